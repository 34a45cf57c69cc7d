// Parses what a hub or another server answers: a list of files, or a header of a file.
#include <algorithm>

#include "app/pull/pull_answer.h"
#include "app/pull/pulled.h"
#include "fuzz.h"

namespace bitnet {
namespace {

void check_sha256(const std::string& sha256) {
  fuzz::promise(sha256.empty() || (sha256.size() == 64 && read_sha256(sha256) == sha256));
}

void take_listing(std::string_view body) {
  std::vector<std::string> paths;
  for (const HubFile& file : read_hub_listing(body)) {
    fuzz::promise(!file.path.empty());
    check_sha256(file.sha256);
    paths.push_back(file.path);
  }
  const std::string choice = choose_gguf(paths);
  fuzz::promise(choice.empty() || std::find(paths.begin(), paths.end(), choice) != paths.end());
  for (const std::string& path : gguf_files(paths)) {
    const auto name = parse_model_name("owner/repo/" + path);
    if (name && name->url.empty()) fuzz::promise(("/" + name->file + "/").find("/../") == std::string::npos);
  }
}

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    take_listing(text);
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::runtime);
    fuzz::check_message(error);
  }
  check_sha256(read_sha256(text));
  if (const auto range = read_content_range(text)) fuzz::promise(text.find('/') != std::string_view::npos);
  if (const auto number = read_whole_number(text))
    fuzz::promise(text.find_first_not_of('0') == std::string_view::npos || *number > 0);
  return 0;
}
