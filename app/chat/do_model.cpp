// /model: what is here, what is known, and another one in place of the one that answers.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "app/base/nearest.h"
#include "app/base/places.h"
#include "app/base/sizes.h"
#include "app/pull/pulled.h"
#include "app/text/fold_case.h"
#include "app/text/text_safe.h"
#include "arguments.h"
#include "do.h"
#include "model_menu.h"
#include "refuse.h"

namespace bitnet {
namespace {

// A model that can be chosen: a path, or the name of one to pull.
struct Offer {
  std::string name;
  std::string title;
  std::string detail;
  std::string path;  // empty: it has to be pulled
  std::string why_not;
  bool running = false;
};

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : fmt::format("{}, {}", first, second);
}

std::vector<Offer> offers(const ChatParts& chat) {
  const ModelOptions& options = chat.models.options();
  std::vector<Offer> all;
  const std::vector<HereModel> here = models_here(options.model_folders);
  for (const HereModel& model : here) {
    const ModelFit fit = chat.model ? fit_of(model, chat.model->device, options) : ModelFit();
    Offer offer{model.name, model.row != nullptr ? model.row->title : "", "", model.path};
    offer.running = chat.models.is_running(model.path);
    offer.detail = fmt::format("{:>10}  {}", size_text(model.bytes),
                               offer.running         ? "answers"
                               : fit.problem.empty() ? joined("here", text_of(fit))
                                                     : "cannot be run");
    all.push_back(std::move(offer));
  }
  for (const CatalogueRow& row : catalogue()) {
    if (std::ranges::any_of(here, [&](const HereModel& model) { return model.row == &row; })) continue;
    const ModelFit fit = chat.model ? fit_of(row, chat.model->device, options) : ModelFit();
    Offer offer{row.name, row.title, "", ""};
    offer.why_not = why_not_run(row.architecture, row.type);
    if (offer.why_not.empty() && row.is_folder)
      offer.why_not = fmt::format(
          "it is a folder of safetensors, which 'git clone {}/{}' fetches; then /model "
          "FOLDER opens it",
          hub_endpoint(), row.repo);
    const std::string state = row.is_folder           ? "a folder"
                              : begun_bytes(row) != 0 ? "fetched in part"
                                                      : "to fetch";
    offer.detail = fmt::format(
        "{:>10}  {}", size_text(row),
        why_not_run(row.architecture, row.type).empty() ? joined(state, text_of(fit)) : "cannot be run yet");
    all.push_back(std::move(offer));
  }
  return all;
}

// Switches to what is here, and pulls what is not.
void take_offer(ChatParts& chat, const Offer& offer) {
  if (offer.running) return chat.front_end().notice(fmt::format("{} answers already.", one_line(offer.name)));
  if (!offer.why_not.empty()) refuse(fmt::format("{}: {}", offer.name, offer.why_not));
  if (offer.path.empty() && !chat.settings.now.files.below.empty())
    refuse(fmt::format("{}: this model is not here, and a script fetches none; --allow-writes lets it",
                       one_line(offer.name)));
  if (offer.path.empty()) return chat.models.pull(offer.name);
  chat.models.want(offer.path);
  if ((chat.busy() && !chat.tasks.is_quiet()) || chat.model.loading()) {
    chat.front_end().notice(fmt::format("{} takes over once nothing else runs; /model stop takes that back.",
                                        one_line(offer.name)));
  }
  chat.models.advance(chat.busy());
}

bool has_text(const Offer& offer, std::string_view filter) {
  return fold_case(fmt::format("{} {}", offer.name, offer.title)).find(fold_case(filter)) !=
         std::string::npos;
}

std::string text_of(const Offer& offer) {
  return offer.title.empty() ? offer.name : fmt::format("{:<14} {}", offer.name, offer.title);
}

void choose_model(ChatParts& chat) {
  const auto all = std::make_shared<const std::vector<Offer>>(offers(chat));
  Choices choices;
  choices.title = "Go on with another model";
  choices.enter = "takes it";
  choices.find = [all](std::string_view filter) {
    std::vector<Choice> found;
    for (size_t i = 0; i < all->size(); ++i) {
      if (has_text((*all)[i], filter))
        found.push_back({static_cast<int64_t>(i), text_of((*all)[i]), (*all)[i].detail});
    }
    return found;
  };
  choices.chosen = [&chat, all](int64_t i) {
    try {
      take_offer(chat, all->at(static_cast<size_t>(i)));
    } catch (const Error& error) {
      chat.reporter.error(error.what());
    }
  };
  if (chat.front_end().choose(std::move(choices))) return;
  std::string text;
  for (const Offer& offer : *all) text += fmt::format("{:<40}{}\n", text_of(offer), offer.detail);
  chat.front_end().command_output("model", text + "\n/model NAME goes on with one of them.");
}

// The path of the model that made the last answer here; empty where nobody knows it. What an imported
// conversation says of its model is a stranger's word.
std::string model_of_conversation(ChatParts& chat, std::string* hash = nullptr) {
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  const auto answer = std::find_if(branch.rbegin(), branch.rend(),
                                   [](const BranchMessage& m) { return m.stored.role == Role::assistant; });
  if (answer == branch.rend()) return {};
  const std::vector<StoredTurn> turns = chat.storage.store().turns(answer->stored.id);
  if (turns.empty() || turns.back().imported) return {};
  if (hash != nullptr) *hash = turns.back().model_hash;
  return turns.back().model;
}

bool is_there(const std::string& path) {
  std::error_code gone;
  return std::filesystem::exists(path, gone);
}

void go_back(ChatParts& chat) {
  const std::string path = model_of_conversation(chat);
  if (path.empty()) refuse("nobody knows which model answered here");
  const std::string name = chat.models.name_of(path);
  if (!is_there(path)) refuse(fmt::format("{} is not here any more: {}", name, printable(path, 300)));
  take_offer(chat, {name, "", "", path, "", chat.models.is_running(path)});
}

// The model that a person names: a path, a name of what is here, of the catalogue, or of the hub.
Offer named_offer(ChatParts& chat, const std::string& name) {
  const std::string path = expand_home(unquoted(name));
  if (is_there(path))
    return {chat.models.name_of(path),   "", "", std::filesystem::absolute(path).lexically_normal(), "",
            chat.models.is_running(path)};
  std::vector<std::string> names;
  for (Offer& offer : offers(chat)) {
    if (offer.name == name) return std::move(offer);
    names.push_back(offer.name);
  }
  if (parse_model_name(name)) return {name, "", "", find_pulled(name), "", false};
  const std::string meant = nearest(name.substr(0, 60), names);
  refuse(fmt::format("there is no model {}; {}", printable(name, 60),
                     meant.empty() ? "/model shows what there is" : fmt::format("did you mean {}?", meant)));
}

}  // namespace

void do_model(ChatParts& chat, std::string_view arguments) {
  if (arguments.empty()) return choose_model(chat);
  if (arguments == "stop") {
    if (chat.models.stop_pull()) return;
    if (chat.models.forget_wanted()) return chat.front_end().notice("The model that answers stays.");
    refuse("no model is being fetched");
  }
  if (arguments == "back") return go_back(chat);
  take_offer(chat, named_offer(chat, std::string(arguments)));
}

void offer_model_of_conversation(ChatParts& chat) {
  chat.offers_model = !chat.model;
  if (!chat.model || chat.conversation.branch().empty()) return;
  std::string hash;
  const std::string path = model_of_conversation(chat, &hash);
  const ModelInfo& model = chat.model->model;
  if (path.empty() || chat.models.is_running(path) || hash == model.fingerprint ||
      hash == model.old_fingerprint)
    return;
  const std::string name = chat.models.name_of(path);
  chat.front_end().notice(is_there(path)
                              ? fmt::format("{} answered here before; /model back goes on with it.", name)
                              : fmt::format("{} answered here before, and is not here any more.", name));
}

std::vector<MenuEntry> model_menu(const std::vector<std::string>& folders, std::string_view line) {
  constexpr std::string_view kCommand = "/model ";
  std::vector<MenuEntry> entries;
  if (!line.starts_with(kCommand) || line.find('\n') != std::string_view::npos) return entries;
  const std::string_view begun = line.substr(kCommand.size());
  const auto add = [&](const std::string& name, std::string help) {
    if (name.starts_with(begun) && name != begun)
      entries.push_back({name, std::move(help), fmt::format("{}{}", kCommand, name), true});
  };
  const std::vector<HereModel> here = models_here(folders);
  for (const HereModel& model : here) add(model.name, fmt::format("here, {}", size_text(model.bytes)));
  for (const CatalogueRow& row : catalogue()) {
    if (std::ranges::any_of(here, [&](const HereModel& model) { return model.row == &row; })) continue;
    if (row.is_folder || !why_not_run(row.architecture, row.type).empty()) continue;
    add(row.name, fmt::format("to fetch, {}: {}", size_text(row), row.title));
  }
  return entries;
}

std::vector<std::string> model_names(const std::vector<std::string>& folders) {
  std::vector<std::string> names = {"stop", "back"};
  for (const MenuEntry& entry : model_menu(folders, "/model ")) names.push_back(entry.label);
  return names;
}

}  // namespace bitnet
