// Where the program keeps what is its own: the XDG base directories, each with a folder bitnet-chat in it.
//
// Source: XDG Base Directory Specification 0.8. A variable that names no absolute path is not used.
//
// Thread rule: free functions that read the environment; any thread.
#pragma once

#include <string>

namespace bitnet {

// Each is empty where neither the variable nor HOME names a folder. Nothing is made.
std::string config_folder();  // $XDG_CONFIG_HOME/bitnet-chat, or ~/.config/bitnet-chat
std::string data_folder();    // $XDG_DATA_HOME/bitnet-chat, or ~/.local/share/bitnet-chat
std::string state_folder();   // $XDG_STATE_HOME/bitnet-chat, or ~/.local/state/bitnet-chat
std::string cache_folder();   // $XDG_CACHE_HOME/bitnet-chat, or ~/.cache/bitnet-chat

// "~/x" as a shell takes it; every other path as it is, and this one too where HOME is not set.
std::string expand_home(const std::string& path);

}  // namespace bitnet
