#include "pull.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "app/base/nearest.h"
#include "catalogue.h"
#include "engine/error.h"
#include "http.h"
#include "part_file.h"
#include "pull_answer.h"
#include "pull_download.h"
#include "pull_progress.h"
#include "pull_request.h"
#include "pulled.h"

namespace bitnet {
namespace {

constexpr size_t kMostName = 100;  // bytes that a message shows
constexpr size_t kMostNames = 10;  // that it lists
constexpr size_t kMostListing = size_t{8} << 20;

std::vector<HubFile> list_repository(const ModelName& name, PullWatcher& watcher) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const std::string url = fmt::format("{}/api/models/{}/tree/main?recursive=true", hub_endpoint(), repo);
  Patience patience(watcher, repo);
  while (true) {
    std::string body;
    HttpSink sink;
    sink.headers = [](long status, const HttpHeaders&) { return status == 200; };
    sink.body = [&](std::string_view bytes) {
      if (body.size() + bytes.size() > kMostListing)
        fail_pull(fmt::format("{}: the list of its files is too long", repo));
      body += bytes;
    };
    const HttpResult result = http_get(request_for(url), sink, [&] { return watcher.keep_going(); });
    if (result.end == HttpResult::End::stopped) throw PullStopped();
    if (result.end == HttpResult::End::failed) fail_pull(fmt::format("{}: {}", repo, result.problem));
    if (result.end == HttpResult::End::cut || may_pass(result.status)) {
      patience.after(result, /*ever_received=*/false, /*kept=*/false);
      continue;
    }
    if (result.status != 200) fail_pull(refusal(fmt::format("repository {}", repo), result.status, true));
    try {
      return read_hub_listing(body);
    } catch (const Error& error) {
      fail_pull(
          fmt::format("{}: {} gives no list of files: {}", repo, printable(hub_endpoint()), error.what()));
    }
  }
}

// The first names of a repository's models, and how many there are besides.
std::string names_of(const std::vector<std::string>& models) {
  std::string names;
  for (size_t i = 0; i < std::min(models.size(), kMostNames); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", printable(models[i], kMostName));
  if (models.size() > kMostNames) names += fmt::format(" and {} more", models.size() - kMostNames);
  return names;
}

PullSource find_on_hub(ModelName name, PullWatcher& watcher) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const std::vector<HubFile> list = list_repository(name, watcher);
  std::vector<std::string> files;
  for (const HubFile& file : list) files.push_back(file.path);
  const std::vector<std::string> models = gguf_files(files);
  if (models.empty()) fail_pull(fmt::format("{}: this repository has no GGUF file", repo));
  if (name.file.empty()) name.file = choose_gguf(files);
  if (name.file.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has several GGUF files; name one, such as {}/{} (there are {})", repo, repo,
                            printable(models.front(), kMostName), names_of(models)));
  }
  if (std::find(models.begin(), models.end(), name.file) == models.end()) {
    fail_pull(
        fmt::format("{} has no file {}; it has {}", repo, printable(name.file, kMostName), names_of(models)));
  }
  if (!parse_model_name(fmt::format("{}/{}", repo, name.file))) {
    fail_pull(fmt::format(
        "{}: its file {} is not pulled, because of its name: only letters, digits, '.', '_' and '-' "
        "are taken, and at most 200 of them",
        repo, printable(name.file, kMostName)));
  }
  PullSource source{fmt::format("{}/{}/resolve/main/{}", hub_endpoint(), repo, name.file), place_of(name), "",
                    0, true};
  for (const HubFile& file : list) {
    if (file.path != name.file) continue;
    source.size = file.size;
    source.sha256 = file.sha256;
  }
  return source;
}

// No part can be opened, so none is fetched.
void refuse_part(const PullSource& source) {
  const std::string path = source.url.substr(0, source.url.find_first_of("?#"));
  const std::string part = part_of_model(path);
  if (part.empty()) return;
  fail_pull(
      fmt::format("{} is {} of a model, which has to be one file: fetch all parts with another program, and "
                  "join them with llama-gguf-split --merge",
                  printable(path.substr(path.rfind('/') + 1), kMostName), part));
}

// Whether the file is there already, with the size and the checksum that are wanted.
bool is_here(const PullSource& source, PullWatcher& watcher) {
  std::error_code none;
  const uint64_t size = std::filesystem::file_size(source.file, none);
  if (none || (source.size != 0 && size != source.size)) return false;
  if (source.sha256.empty()) return true;  // nothing says what else it should be
  const std::string found = sha256_of_file(source.file, [&](uint64_t done) {
    watcher.show("checking", done, size);
    return watcher.keep_going();
  });
  if (found.empty()) throw PullStopped();
  return found == source.sha256;
}

// Identifies the file of this name, as far as that is possible without reading it.
std::string mark_of(const std::filesystem::path& file) {
  struct stat info = {};
  if (stat(file.c_str(), &info) != 0) return {};
  return fmt::format("{}:{}:{}:{}.{}", info.st_dev, info.st_ino, info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

// Fills the part and returns its SHA-256. A part that no later call could continue does not stay on the disk.
std::string fill(PartFile& part, PullSource& source, const std::string& name, PullWatcher& watcher) {
  try {
    download(source, part, watcher, name);
    watcher.restart();
    std::string sha256 = part.sha256([&](uint64_t done) {
      watcher.show("checking", done, part.size());
      return watcher.keep_going();
    });
    if (sha256.empty()) throw PullStopped();
    return sha256;
  } catch (const PullStopped&) {
    if (!part.resumable()) part.remove();
    throw PullStopped{part.resumable()};
  } catch (const Error& error) {
    if (part.resumable()) throw;
    part.remove();
    if (part.size() == 0) throw;
    throw Error(error.kind(),
                fmt::format("{}; what came was thrown away, as the server gives nothing to go on with",
                            error.what()));
  }
}

// `before` is mark_of the file when is_here() refused it.
void fetch(PullSource& source, const std::string& before, const std::string& name, PullWatcher& watcher) {
  PartFile part(source.file);
  if (mark_of(source.file) != before && is_here(source, watcher)) {  // another process was faster
    part.remove();
    watcher.say("is here already");
    return;
  }
  const std::string sha256 = fill(part, source, name, watcher);
  if (!source.sha256.empty() && sha256 != source.sha256) {
    part.remove();
    fail_pull(fmt::format("{}: wanted SHA-256 {}, found {}; what came was thrown away", name, source.sha256,
                          sha256));
  }
  part.finish();
  watcher.say(fmt::format("{}, SHA-256 {} ({})", byte_amount(part.size()), sha256,
                          source.sha256.empty() ? "none was published to compare with" : "as published"));
}

// The name of a file or a repository, for one that a person gave. Throws Error(usage) where it is none.
ModelName name_to_fetch(const std::string& text) {
  if (const CatalogueRow* row = find_in_catalogue(text)) {
    if (!row->is_folder) return model_name_of(*row);
    throw Error(ErrorKind::usage,
                fmt::format("{}: this is a folder of safetensors, and pull fetches GGUF files; 'git clone "
                            "{}/{}' (with git-lfs) gives it, and 'bitnet-chat FOLDER' opens it",
                            row->name, hub_endpoint(), row->repo));
  }
  if (const auto name = parse_model_name(text)) return *name;
  std::vector<std::string> names;
  for (const CatalogueRow& row : catalogue()) names.emplace_back(row.name);
  const std::string meant = nearest(text.substr(0, kMostName), names);
  throw Error(
      ErrorKind::usage,
      fmt::format("pull: wanted OWNER/REPO, OWNER/REPO/FILE.gguf, a URL or a name that 'bitnet-chat "
                  "models' lists, found '{}'{}",
                  printable(text, kMostName), meant.empty() ? "" : fmt::format("; did you mean {}?", meant)));
}

}  // namespace

std::string fetch_model(const std::string& text, PullWatcher& watcher) {
  const ModelName name = name_to_fetch(text);
  PullSource source = name.url.empty() ? find_on_hub(name, watcher)
                                       : PullSource{name.url, place_of(name), "", 0,
                                                    origin_of(name.url) == origin_of(hub_endpoint())};
  refuse_part(source);
  const std::string before = mark_of(source.file);
  if (is_here(source, watcher)) {
    watcher.say("is here already");
  } else {
    fetch(source, before, printable(text, 200), watcher);
  }
  return source.file.string();
}

int pull(const std::string& text, Output& out, Output& err) {
  const ModelName name = name_to_fetch(text);
  const StopSignals signals;
  PullProgress progress(err, printable(name.url.empty() && !name.file.empty() ? name.file : text, 60));
  try {
    const std::string file = fetch_model(text, progress);
    progress.clear();
    if (err.is_terminal()) err.write(fmt::format("'bitnet-chat {}' opens it\n", printable(text)));
    out.write(file + "\n");
    return 0;
  } catch (const PullStopped& stopped) {
    progress.say(stopped.kept ? "stopped; the same command goes on from there"
                              : "stopped; nothing was kept, the same command begins again");
    return 128 + stop_signal_seen();
  }
}

}  // namespace bitnet
