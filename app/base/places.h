// Where the program keeps its own files: a folder bitnet-chat in each of the XDG base directories.
//
// Source: XDG Base Directory Specification 0.8. A variable that names no absolute path is ignored.
//
// Thread rule: free functions that read the environment; any thread.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace bitnet {

// Each is empty if neither the variable nor HOME names a folder. These functions make no folder.
std::string config_folder();  // $XDG_CONFIG_HOME/bitnet-chat, or ~/.config/bitnet-chat
std::string data_folder();    // $XDG_DATA_HOME/bitnet-chat, or ~/.local/share/bitnet-chat
std::string state_folder();   // $XDG_STATE_HOME/bitnet-chat, or ~/.local/state/bitnet-chat
std::string cache_folder();   // $XDG_CACHE_HOME/bitnet-chat, or ~/.cache/bitnet-chat

// What is installed with the program, wherever its tree was moved to: share/bitnet-chat beside its bin
// folder.
std::filesystem::path shared_folder();

// Returns "~/x" as a shell reads it. Every other path stays as it is, and so does this one if HOME is not
// set.
std::string expand_home(const std::string& path);

struct FolderProblem {
  std::filesystem::path folder;  // the one that cannot be made
  int reason;                    // errno
};
// Makes a folder and those above it that are missing, for the owner only (mode 0700). Empty if they are all
// there. Throws nothing.
std::optional<FolderProblem> make_private_folders(const std::filesystem::path& folder);

}  // namespace bitnet
