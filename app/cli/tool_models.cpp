// models, pull, rm: what is here, what is known, and what of it is fetched or deleted.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/base/sizes.h"
#include "app/model/models.h"
#include "app/pull/pull.h"
#include "engine/engine.h"
#include "engine/error.h"
#include "safe_output.h"
#include "tools.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

constexpr size_t kLeastName = 14, kMostName = 24;  // columns

// A model of the list, here or not.
struct Listed {
  std::string name;
  ModelFit fit;
  const HereModel* here = nullptr;
  const CatalogueRow* row = nullptr;
  uint64_t begun = 0;  // bytes that came before its pull was stopped
};

struct Listing {
  DeviceInfo device;
  std::vector<HereModel> models;
  std::vector<Listed> here, known;
};

Listing make_listing(const Options& options) {
  Listing listing;
  listing.device = find_device(engine_options(options));
  listing.models = models_here(options.model_folders);
  for (const HereModel& model : listing.models)
    listing.here.push_back({model.name, fit_of(model, listing.device, options), &model, model.row});
  for (const CatalogueRow& row : catalogue()) {
    if (std::ranges::none_of(listing.models, [&](const HereModel& model) { return model.row == &row; }))
      listing.known.push_back(
          {row.name, fit_of(row, listing.device, options), nullptr, &row, begun_bytes(row)});
  }
  return listing;
}

std::string memory_text(const ModelFit& fit) {
  return fit.memory == 0 ? "-" : fmt::format("{}{}", fit.about ? "~" : "", size_text(fit.memory));
}

// What stands behind the sizes.
std::string outcome_text(const Listed& model) {
  if (model.here != nullptr) return model.fit.problem.empty() ? text_of(model.fit) : "cannot be run";
  std::string text = model.fit.problem.empty() ? text_of(model.fit) : model.fit.problem;
  const auto add = [&](const std::string& more) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", more);
  };
  if (model.begun != 0) add(fmt::format("{} fetched", size_text(model.begun)));
  return text;
}

std::string line_of(const Listed& model, size_t width) {
  std::string name = printable(model.name, 300);
  if (name.size() > width) name += fmt::format("\n  {:{}}", "", width);
  const std::string file = model.here != nullptr ? size_text(model.here->bytes) : size_text(*model.row);
  std::string line = fmt::format("  {:<{}}  {:>10}  {:>10}  {}", name, width, file, memory_text(model.fit),
                                 outcome_text(model));
  line.erase(line.find_last_not_of(' ') + 1);
  if (model.here != nullptr && !model.fit.problem.empty())
    line += fmt::format("\n    {}", printable(model.fit.problem, 500));
  return line + "\n";
}

std::string text_of(const Listing& listing) {
  size_t width = kLeastName;
  for (const auto* list : {&listing.here, &listing.known}) {
    for (const Listed& model : *list)
      if (model.name.size() <= kMostName) width = std::max(width, model.name.size());
  }
  std::string s = fmt::format("{:<{}}  {:>10}  {:>10}  on {}\n", "here", width + 2, "file", "memory",
                              printable(listing.device.name, 40));
  for (const Listed& model : listing.here) s += line_of(model, width);
  if (listing.here.empty()) s += "  nothing\n";
  if (!listing.known.empty()) s += "\nknown; 'bitnet-chat pull NAME' fetches one\n";
  const auto is_folder = [](const Listed& model) { return model.row->is_folder; };
  for (const Listed& model : listing.known) {
    if (!is_folder(model)) s += line_of(model, width);
  }
  if (std::ranges::any_of(listing.known, is_folder))
    s += "\nknown, as a folder of safetensors, which 'git clone' fetches from the hub\n";
  for (const Listed& model : listing.known) {
    if (!is_folder(model)) continue;
    std::string line = line_of(model, width);
    s += fmt::format("{}{:{}}{}\n", line, "", width + 4, model.row->repo);
  }
  return s;
}

ordered_json json_of(const Listed& model) {
  const auto or_null = [](bool known, const auto& value) {
    return known ? ordered_json(value) : ordered_json();
  };
  const CatalogueRow* row = model.row;
  ordered_json j = {{"name", model.name}};
  if (model.here != nullptr) {
    j["path"] = model.here->path;
    j["from"] = name_of(model.here->from);
    j["bytes"] = model.here->bytes;
  } else {
    j["bytes"] = or_null(row->bytes != 0, row->bytes);
    j["bytes_are_exact"] = row->bytes != 0 && !row->rounded;
    j["fetched_bytes"] = model.begun;
  }
  j["memory_bytes"] = or_null(model.fit.memory != 0, model.fit.memory);
  j["fits"] = name_of(model.fit.kind);
  j["runs"] = model.fit.problem.empty();
  j["problem"] = or_null(!model.fit.problem.empty(), model.fit.problem);
  if (row == nullptr) return j;
  j["title"] = row->title;
  j["repository"] = row->repo;
  j["file"] = or_null(*row->file != '\0', row->file);
  j["architecture"] = row->architecture;
  j["type"] = row->type;
  j["licence"] = or_null(*row->licence != '\0', row->licence);
  j["is_folder"] = row->is_folder;
  return j;
}

ordered_json json_of(const Listing& listing) {
  ordered_json here = ordered_json::array(), known = ordered_json::array();
  for (const Listed& model : listing.here) here.push_back(json_of(model));
  for (const Listed& model : listing.known) known.push_back(json_of(model));
  return {{"device", listing.device.name}, {"here", here}, {"known", known}};
}

// The file that rm means, which may have come in part only.
std::string file_to_remove(const Options& options) {
  const std::string& name = options.words;
  if (const auto here = find_here(name, options.model_folders)) {
    if (here->from == ModelFrom::pulled) return here->path;
    throw Error(ErrorKind::usage,
                fmt::format("{}: this model was not pulled, and rm deletes no other; it is {}",
                            printable(name), printable(here->path, 300)));
  }
  const CatalogueRow* row = find_in_catalogue(name);
  const auto known = row != nullptr ? model_name_of(*row) : parse_model_name(name);
  if (known) {
    if (std::string pulled = find_pulled(*known); !pulled.empty()) return pulled;
    std::string begun = begun_file(*known);
    if (!begun.empty()) return begun;
  }
  throw Error(ErrorKind::runtime,
              fmt::format("{}: nothing pulled has that name; 'bitnet-chat models' lists what is here",
                          printable(name, 100)));
}

}  // namespace

void tool_models(const Options& options, Output& out) {
  if (options.names) {
    std::string names;
    for (const HereModel& model : models_here(options.model_folders)) names += model.name + "\n";
    return print_safe(out, names);
  }
  const Listing listing = make_listing(options);
  if (options.json)
    print_json(out, json_of(listing));
  else
    print_safe(out, text_of(listing));
}

int tool_pull(const Options& options, Output& out, Output& err) {
  const CatalogueRow* row = find_in_catalogue(options.words);
  if (row != nullptr) {
    if (const std::string why = why_not_run(row->architecture, row->type); !why.empty())
      err.write(fmt::format("{}: this can be fetched, but {} here\n", row->name, why));
  }
  return pull(options.words, out, err);
}

void tool_remove(const Options& options, Output& out, Output& err) {
  const std::string file = file_to_remove(options);
  if (!options.yes) {
    if (isatty(STDIN_FILENO) == 0)
      throw Error(
          ErrorKind::usage,
          fmt::format("rm: wanted --yes, as nobody can be asked; it would delete {}", printable(file, 300)));
    err.write(make_safe(fmt::format("delete {}? [y/N] ", printable(file, 300))));
    std::string answer;
    if (!std::getline(std::cin, answer) || (answer != "y" && answer != "Y" && answer != "yes")) {
      err.write("nothing was deleted\n");
      return;
    }
  }
  const uint64_t bytes = remove_pulled(file);
  err.write(make_safe(fmt::format("{} is deleted, {}\n", printable(options.words, 100), size_text(bytes))));
  print_safe(out, file + "\n");
}

}  // namespace bitnet
