#include "places.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

namespace bitnet {
namespace {

std::string folder(const char* variable, const char* below_home) {
  const char* named = std::getenv(variable);
  if (named != nullptr && named[0] == '/') return std::string(named) + "/bitnet-chat";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] == '/') return std::string(home) + below_home + "/bitnet-chat";
  return {};
}

}  // namespace

std::string config_folder() { return folder("XDG_CONFIG_HOME", "/.config"); }
std::string data_folder() { return folder("XDG_DATA_HOME", "/.local/share"); }
std::string state_folder() { return folder("XDG_STATE_HOME", "/.local/state"); }
std::string cache_folder() { return folder("XDG_CACHE_HOME", "/.cache"); }

std::filesystem::path shared_folder() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return (program.parent_path() / ".." / "share" / "bitnet-chat").lexically_normal();
}

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr && *home != '\0' ? home + path.substr(1) : path;
}

std::optional<FolderProblem> make_private_folders(const std::filesystem::path& folder) {
  std::error_code unknown;  // what stands above it may not be searched, or be a loop of links
  if (folder.empty() || std::filesystem::is_directory(folder, unknown)) return std::nullopt;
  if (auto above = make_private_folders(folder.parent_path())) return above;
  if (mkdir(folder.c_str(), 0700) == 0) return std::nullopt;
  if (errno != EEXIST) return FolderProblem{folder, errno};
  struct stat there {};  // another program may have made it just now
  if (stat(folder.c_str(), &there) != 0) return FolderProblem{folder, errno};
  if (!S_ISDIR(there.st_mode)) return FolderProblem{folder, ENOTDIR};
  return std::nullopt;
}

}  // namespace bitnet
