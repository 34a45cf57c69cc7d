#include "pull.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "http.h"
#include "part_file.h"
#include "pull_download.h"
#include "pull_progress.h"
#include "pull_request.h"
#include "pulled.h"

namespace bitnet {
namespace {

using nlohmann::json;

constexpr size_t kMostListing = size_t{8} << 20;

json list_repository(const ModelName& name, PullProgress& progress) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const std::string url = fmt::format("{}/api/models/{}/tree/main?recursive=true", hub_endpoint(), repo);
  Patience patience(progress, repo);
  while (true) {
    std::string body;
    HttpSink sink;
    sink.headers = [](long status, const HttpHeaders&) { return status == 200; };
    sink.body = [&](std::string_view bytes) {
      if (body.size() + bytes.size() > kMostListing)
        fail_pull(fmt::format("{}: the list of its files is too long", repo));
      body += bytes;
    };
    const HttpResult result = http_get(request_for(url), sink, keep_going);
    if (result.end == HttpResult::End::stopped) throw Stopped();
    if (result.end == HttpResult::End::failed) fail_pull(fmt::format("{}: {}", repo, result.problem));
    if (result.end == HttpResult::End::cut || may_pass(result.status)) {
      patience.after(result, /*ever_received=*/false);
      continue;
    }
    if (result.status != 200) fail_pull(refusal(fmt::format("repository {}", repo), result.status, true));
    const json list = json::parse(body, nullptr, /*allow_exceptions=*/false);
    if (!list.is_array())
      fail_pull(fmt::format("{}: {} gives no list of files", repo, printable(hub_endpoint())));
    return list;
  }
}

PullSource find_on_hub(ModelName name, PullProgress& progress) {
  const std::string repo = fmt::format("{}/{}", name.owner, name.repo);
  const json list = list_repository(name, progress);
  std::vector<std::string> files;
  for (const json& entry : list) {
    if (entry.is_object() && entry.value("type", json()) == "file" &&
        entry.value("path", json()).is_string()) {
      files.push_back(entry["path"]);
    }
  }
  const std::vector<std::string> models = gguf_files(files);
  std::string choice;
  for (const std::string& model : models)
    choice += fmt::format("{}{}", choice.empty() ? "" : ", ", printable(model));
  if (models.empty()) fail_pull(fmt::format("{}: this repository has no GGUF file", repo));
  if (name.file.empty()) name.file = choose_gguf(files);
  if (name.file.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("{} has several GGUF files; name one, such as {}/{} (there are {})", repo, repo,
                            printable(models.front()), choice));
  }
  if (!parse_model_name(fmt::format("{}/{}", repo, name.file)) ||
      std::find(models.begin(), models.end(), name.file) == models.end()) {
    fail_pull(fmt::format("{} has no file {}; it has {}", repo, printable(name.file), choice));
  }
  PullSource source{fmt::format("{}/{}/resolve/main/{}", hub_endpoint(), repo, name.file), place_of(name), "",
                    0, true};
  for (const json& entry : list) {
    if (!entry.is_object() || entry.value("path", json()) != name.file) continue;
    const json size = entry.value("size", json());
    if (size.is_number_unsigned()) source.size = size;
    const json lfs = entry.value("lfs", json());
    if (lfs.is_object() && lfs.value("oid", json()).is_string() && is_sha256(lfs["oid"].get<std::string>())) {
      source.sha256 = lfs["oid"];
    }
  }
  return source;
}

// Whether the file is there already and right.
bool is_here(const PullSource& source, PullProgress& progress) {
  std::error_code none;
  const uint64_t size = std::filesystem::file_size(source.file, none);
  if (none || (source.size != 0 && size != source.size)) return false;
  if (source.sha256.empty()) return source.size != 0;
  const std::string found = sha256_of_file(source.file, [&](uint64_t done) {
    progress.show("checking", done, size);
    return keep_going();
  });
  if (found.empty()) throw Stopped();
  return found == source.sha256;
}

void fetch(PullSource& source, const std::string& name, PullProgress& progress) {
  PartFile part(source.file);
  try {
    download(source, part, progress, name);
  } catch (...) {
    if (part.size() == 0) part.remove();
    throw;
  }
  progress.restart();
  const std::string sha256 = part.sha256([&](uint64_t done) {
    progress.show("checking", done, part.size());
    return keep_going();
  });
  if (sha256.empty()) throw Stopped();
  if (!source.sha256.empty() && sha256 != source.sha256) {
    part.remove();
    fail_pull(fmt::format("{}: wanted SHA-256 {}, found {}; what came was thrown away", name, source.sha256,
                          sha256));
  }
  part.finish();
  progress.say(fmt::format("{}, SHA-256 {} ({})", byte_amount(part.size()), sha256,
                           source.sha256.empty() ? "none was published to compare with" : "as published"));
}

}  // namespace

int pull(const std::string& text, Output& out, Output& err) {
  const auto name = parse_model_name(text);
  if (!name) {
    throw Error(
        ErrorKind::usage,
        fmt::format("pull: wanted OWNER/REPO, OWNER/REPO/FILE.gguf or a URL, found '{}'", printable(text)));
  }
  const StopSignals signals;
  PullProgress progress(err, printable(name->url.empty() && !name->file.empty() ? name->file : text, 60));
  try {
    PullSource source = name->url.empty() ? find_on_hub(*name, progress)
                                          : PullSource{name->url, place_of(*name), "", 0,
                                                       origin_of(name->url) == origin_of(hub_endpoint())};
    if (is_here(source, progress)) {
      progress.say("is here already");
    } else {
      fetch(source, printable(text, 200), progress);
    }
    progress.clear();
    if (err.is_terminal()) err.write(fmt::format("'bitnet-chat {}' opens it\n", printable(text)));
    out.write(source.file.string() + "\n");
    return 0;
  } catch (const Stopped&) {
    progress.say("stopped; the same command goes on from there");
    return 128 + stop_signal_seen();
  }
}

}  // namespace bitnet
