#include "pulled.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "app/base/descriptor.h"
#include "app/base/places.h"
#include "app/base/sha256.h"
#include "engine/error.h"
#include "engine/lower.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostListed = 1000;
constexpr size_t kMostParts = 32;    // of a path
constexpr size_t kMostOfPart = 200;  // bytes
constexpr const char* kUsualHub = "https://huggingface.co";

bool is_part(std::string_view part) {
  return !part.empty() && part.size() <= kMostOfPart && part != "." && part != ".." &&
         std::all_of(part.begin(), part.end(), [](unsigned char c) {
           return c < 128 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
         });
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    parts.emplace_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<ModelName> parse_parts(const std::vector<std::string>& parts) {
  if (parts.size() < 2 || parts.size() > kMostParts || !std::all_of(parts.begin(), parts.end(), is_part))
    return std::nullopt;
  ModelName name;
  name.owner = parts[0];
  name.repo = parts[1];
  for (size_t i = 2; i < parts.size(); ++i) name.file += (i == 2 ? "" : "/") + parts[i];
  if (!name.file.empty() && !lower(name.file).ends_with(".gguf")) return std::nullopt;
  return name;
}

// The path of a hub's address as a name, if it is that of a page or of a file on its main branch.
std::optional<ModelName> parse_hub_address(std::string_view path) {
  std::vector<std::string> parts = split_path(path.substr(0, path.find_first_of("?#")));
  while (!parts.empty() && parts.back().empty()) parts.pop_back();
  if (parts.size() >= 4 && (parts[2] == "resolve" || parts[2] == "blob" || parts[2] == "tree") &&
      parts[3] == "main") {
    parts.erase(parts.begin() + 2, parts.begin() + 4);
  } else if (parts.size() != 2) {
    return std::nullopt;
  }
  return parse_parts(parts);
}

fs::path models_folder() {
  if (const std::string cache = cache_folder(); !cache.empty()) return fs::path(cache) / "models";
  throw Error(ErrorKind::runtime, "neither XDG_CACHE_HOME nor HOME names a folder to keep models in");
}

}  // namespace

std::string hub_endpoint() {
  const char* given = std::getenv("HF_ENDPOINT");
  std::string endpoint = given != nullptr && *given != '\0' ? given : kUsualHub;
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return endpoint;
}

std::optional<ModelName> parse_model_name(std::string_view text) {
  if (!text.starts_with("http://") && !text.starts_with("https://")) return parse_parts(split_path(text));
  for (const std::string& hub : {hub_endpoint(), std::string(kUsualHub)}) {
    if (!text.starts_with(hub + "/")) continue;
    if (auto name = parse_hub_address(text.substr(hub.size() + 1))) return name;
  }
  ModelName name;
  name.url = text.substr(0, text.find('#'));
  const size_t host = name.url.find("://") + 3;
  const size_t path = name.url.find('/', host);
  const bool has_file = path != std::string::npos && path + 1 < name.url.size() && name.url[path + 1] != '?';
  if (path == host || !has_file) return std::nullopt;
  if (split_path(name.url).size() > kMostParts) return std::nullopt;
  return name;
}

fs::path place_of(const ModelName& name) {
  if (name.url.empty()) return models_folder() / "hub" / name.owner / name.repo / name.file;
  const size_t host = name.url.find("://") + 3;
  std::string_view path = std::string_view(name.url).substr(host);
  bool is_whole = path.find('?') == std::string_view::npos;
  path = path.substr(0, path.find('?'));
  if (const size_t at = path.substr(0, path.find('/')).rfind('@'); at != std::string_view::npos) {
    path = path.substr(at + 1);  // a password is no part of a file's name
  }
  fs::path place = models_folder() / "url";
  bool is_host = true;
  for (std::string part : split_path(path)) {
    const std::string before = part;
    for (char& c : part) {
      if (!is_part(std::string_view(&c, 1)) && c != '.') c = '_';
    }
    if (part == "." || part == "..") part = "_";
    part.resize(std::min(part.size(), kMostOfPart));
    is_whole &= is_host || part == before;
    is_host = false;
    if (!part.empty()) place /= part;
  }
  // Addresses that differ in what a name of a file cannot have are told apart by their hash.
  constexpr size_t kDigits = 12;
  if (!is_whole)
    place.replace_filename(place.stem().string() + "-" + sha256_of(name.url).substr(0, kDigits) +
                           place.extension().string());
  return place;
}

std::vector<std::string> gguf_files(std::span<const std::string> files) {
  std::vector<std::string> found;
  std::copy_if(files.begin(), files.end(), std::back_inserter(found),
               [](const std::string& file) { return lower(file).ends_with(".gguf"); });
  return found;
}

std::string choose_gguf(std::span<const std::string> files) {
  const std::vector<std::string> found = gguf_files(files);
  if (found.size() == 1) return found.front();
  std::string chosen;
  for (const std::string& file : found) {
    if (lower(file).find("i2_s") == std::string::npos) continue;
    if (!chosen.empty()) return "";
    chosen = file;
  }
  return chosen;
}

std::string part_of_model(std::string_view file) {
  constexpr std::string_view kForm = "-#####-of-#####.gguf";
  constexpr size_t kDigits = 5, kPart = 1, kParts = 10;
  if (file.size() <= kForm.size()) return "";
  const std::string end = lower(file.substr(file.size() - kForm.size()));
  const auto is_of_form = [](char c, char form) { return form == '#' ? c >= '0' && c <= '9' : c == form; };
  if (!std::equal(end.begin(), end.end(), kForm.begin(), is_of_form)) return "";
  const int part = std::stoi(end.substr(kPart, kDigits)), parts = std::stoi(end.substr(kParts, kDigits));
  return parts <= 1 ? "" : "part " + std::to_string(part) + " of " + std::to_string(parts);
}

std::string find_pulled(std::string_view text) {
  const auto name = parse_model_name(text);
  return name ? find_pulled(*name) : "";
}

std::string find_pulled(const ModelName& name) {
  std::error_code ignored;
  const fs::path place = place_of(name);
  if (!name.url.empty() || !name.file.empty())
    return fs::is_regular_file(place, ignored) ? place.string() : "";
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator at(place, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    if (at->is_regular_file(ignored)) files.push_back(at->path().lexically_relative(place).string());
  }
  const std::string chosen = choose_gguf(files);
  return chosen.empty() ? "" : (place / chosen).string();
}

std::vector<PulledFile> pulled_files() {
  std::vector<PulledFile> files;
  std::error_code ignored;
  if (cache_folder().empty()) return files;
  const fs::path folder = models_folder();
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, ignored),
       end;
       !ignored && at != end && files.size() < kMostListed; at.increment(ignored)) {
    std::error_code gone;
    if (!lower(at->path().filename().string()).ends_with(".gguf") || !at->is_regular_file(gone)) continue;
    const fs::path below = at->path().lexically_relative(folder);
    const bool of_hub = *below.begin() == "hub" && std::distance(below.begin(), below.end()) >= 4;
    files.push_back(
        {at->path(), of_hub ? below.lexically_relative("hub").string() : at->path().stem().string()});
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

uint64_t remove_pulled(const fs::path& file) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(file.string(), 300), why));
  };
  std::error_code problem;
  const fs::path top = fs::canonical(models_folder(), problem);
  if (problem) fail("nothing was pulled yet");
  fs::path folder = fs::canonical(file.parent_path(), problem);
  if (problem) fail("it is not there any more");
  const fs::path from_top = folder.lexically_relative(top);
  if (from_top.empty() || *from_top.begin() == ".." || *from_top.begin() == "." || !file.has_filename())
    fail("it does not lie in the folder of pulled models, so it stays");
  const fs::path place = folder / file.filename();
  const fs::path part = place.string() + ".part";
  const Descriptor held{open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (held.fd >= 0 && flock(held.fd, LOCK_EX | LOCK_NB) != 0) fail("it is being fetched; stop that first");
  const fs::file_status status = fs::symlink_status(place, problem);
  if (fs::is_directory(status)) fail("it is a folder, so it stays");
  const uint64_t size = fs::is_regular_file(status) ? fs::file_size(place, problem) : 0;
  if (unlink(place.c_str()) != 0 && (errno != ENOENT || held.fd < 0))
    fail(errno == ENOENT ? "it is not there any more"
                         : fmt::format("cannot be removed: {}", std::strerror(errno)));
  unlink(part.c_str());
  unlink((part.string() + ".json").c_str());
  for (; folder != top && rmdir(folder.c_str()) == 0; folder = folder.parent_path()) {
  }
  return size;
}

}  // namespace bitnet
