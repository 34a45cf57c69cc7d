// Names of models on a model hub, and where 'bitnet-chat pull' keeps their files:
//     $XDG_CACHE_HOME/bitnet-chat/models/hub/OWNER/REPO/FILE and .../models/url/HOST/PATH
// Where an address has a query, or what a name of a file cannot have, 12 digits of its SHA-256 stand before
// the ending. It is a cache, because everything in it can be fetched again.
//
// Thread rule: values and free functions; main's thread.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

// OWNER/REPO, OWNER/REPO/FILE or a URL. The address of a hub's page or file (/OWNER/REPO, .../blob/main/FILE,
// .../resolve/main/FILE) is read as the name it stands for.
struct ModelName {
  std::string owner;
  std::string repo;
  std::string file;  // in the repository, "/" between folders; empty: to be chosen
  std::string url;   // not empty: this, and the others are empty
};

// nullopt if `text` is neither. No part of a name is empty, "." or "..", and its characters are
// [A-Za-z0-9._-].
std::optional<ModelName> parse_model_name(std::string_view text);

std::string hub_endpoint();  // $HF_ENDPOINT or https://huggingface.co, without a slash at the end

// Where the file of a name is kept; for a name without a file, the folder of its repository. Throws
// Error(runtime) if neither XDG_CACHE_HOME nor HOME names a folder.
std::filesystem::path place_of(const ModelName& name);

// The GGUF file to take from a repository: the only one, or the only one with "i2_s" in its name; otherwise
// empty.
std::string choose_gguf(std::span<const std::string> files);
std::vector<std::string> gguf_files(std::span<const std::string> files);

// "part 1 of 3" for x-00001-of-00003.gguf, as llama.cpp names the parts of a model; otherwise empty.
std::string part_of_model(std::string_view file);

// The file of a pulled model by its name; empty if there is none.
std::string find_pulled(const ModelName& name);
std::string find_pulled(std::string_view name);

// Every file that was pulled, in the order of their paths; at most so many as a person would look at.
struct PulledFile {
  std::filesystem::path path;
  std::string name;  // OWNER/REPO/FILE; of a URL, the name of that file without .gguf
};
std::vector<PulledFile> pulled_files();

// Removes a file that was pulled, and what a stopped pull left of it, and the folders that are empty then.
// Returns its bytes. Throws Error(runtime) where it does not lie in the folder of pulled models, whatever
// links lead there, or where it is being fetched.
uint64_t remove_pulled(const std::filesystem::path& file);

}  // namespace bitnet
