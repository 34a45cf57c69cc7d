// /set /seed /reset /system /reopen: how answers are chosen, and where the model runs.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "app/base/counted.h"
#include "app/text/text_file.h"
#include "arguments.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

constexpr size_t kMostSystemBytes = 1 << 20;

void warn_of_think(ChatParts& chat) {
  if (!chat.model) return;
  if (const std::string warning = think_warning(chat.settings.now, *chat.model->text); !warning.empty())
    chat.front_end().notice(warning);
}

}  // namespace

// Another context size begins a task.
void change_settings(ChatParts& chat, ChatSettings changed) {
  if (changed.ctx != chat.settings.now.ctx && chat.model && chat.busy())
    refuse("ctx has to wait: an answer is being made");
  chat.settings.now = std::move(changed);
  if (chat.model) fit_context(chat);
  chat.reporter.send_status();
}

void set_system(ChatParts& chat, std::string_view text) {
  const std::string wanted(text);
  if (chat.storage.number() != 0)
    chat.storage.keep([&] { chat.storage.store().set_system(chat.storage.number(), wanted); });
  chat.settings.now.system = chat.settings.new_system = wanted;
  chat.conversation.update_context();
  chat.reporter.send_status();
}

std::string think_warning(const ChatSettings& settings, const ModelText& text) {
  if (!settings.think || text.chat_template.knows_enable_thinking()) return {};
  return fmt::format("think {} changes nothing: this model's chat template does not know enable_thinking.",
                     *settings.think ? "on" : "off");
}

void fit_context(ChatParts& chat) {
  const ModelInfo& model = chat.model->model;
  const uint32_t wish = chat.settings.now.ctx;  // it stays one, for another model may hold so many
  const uint32_t wanted = wish == 0 ? usual_context(model) : std::min(wish, model.n_ctx_train);
  if (wanted == chat.model->n_ctx) return;
  Task task;
  task.on_finish = [&chat](const Finished& finished) {
    if (!chat.model) return;
    const uint32_t n_ctx = chat.model->n_ctx;
    if (finished.reason == "stop") {
      chat.front_end().notice(fmt::format(
          "The context holds {} now; the next turn is read from its beginning.", counted(n_ctx, "token")));
    } else {
      chat.settings.now.ctx = n_ctx;
      chat.reporter.error(
          fmt::format("The context still holds {}: {}", counted(n_ctx, "token"), finished.message));
    }
    chat.answer.begin_waiting();
  };
  chat.tasks.start(ContextJob{wanted}, std::move(task));
}

std::string settings_text(const ChatParts& chat, std::string_view name) {
  const ChatSettings& defaults = chat.settings.defaults;
  if (!name.empty()) setting_named(name);
  std::string text;
  for (const Setting& setting : settings_table()) {
    if (!name.empty() && name != setting.name) continue;
    text +=
        fmt::format("{:<14} = {:<6} (default {} of {}; {})\n", setting.name, setting.show(chat.settings.now),
                    setting.show(defaults), name_of(source_of(defaults, setting.name)), setting.range);
    if (!name.empty()) text += fmt::format("  {}\n", setting.help);
  }
  if (chat.model.loading() && defaults.begun_as == SettingSource::program)
    text += "The model is still loading; its file may have other defaults.\n";
  return text;
}

void do_set(ChatParts& chat, std::string_view arguments) {
  const auto [name, value] = split(arguments);
  if (!value.empty()) {
    ChatSettings changed = chat.settings.now;
    set_from(SettingSource::person, changed, name, value);
    if (name == "ctx" && chat.model && changed.ctx > chat.model->model.n_ctx_train)
      refuse(fmt::format("ctx: wanted 0 to {}, what the model was trained for, found {}",
                         chat.model->model.n_ctx_train, changed.ctx));
    change_settings(chat, std::move(changed));
    if (name == "think") chat.settings.new_think = chat.settings.now.think;
  }
  chat.front_end().command_output("set", settings_text(chat, name));
  if (name == "think" && !value.empty()) warn_of_think(chat);
}

void do_think(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty()) {
    set_from(SettingSource::person, chat.settings.now, "think", arguments);
    chat.settings.new_think = chat.settings.now.think;
  }
  chat.front_end().command_output("think", settings_text(chat, "think"));
  if (!arguments.empty()) warn_of_think(chat);
}

void do_seed(ChatParts& chat, std::string_view arguments) {
  if (!arguments.empty()) set_from(SettingSource::person, chat.settings.now, "seed", arguments);
  chat.front_end().command_output("seed", settings_text(chat, "seed"));
}

void do_reset(ChatParts& chat, std::string_view) {
  ChatSettings changed = chat.settings.defaults;
  changed.system = chat.settings.now.system;
  changed.utc_offset = chat.settings.now.utc_offset;
  wear(chat.settings.defaults.persona, changed, chat.settings.defaults, SettingSource::command_line);
  change_settings(chat, std::move(changed));
  chat.settings.new_think = chat.settings.now.think;
  chat.settings.new_persona = chat.settings.now.persona;
  chat.front_end().command_output("reset", settings_text(chat, ""));
}

void do_system(ChatParts& chat, std::string_view arguments) {
  if (arguments == "none") {
    set_system(chat, "");
  } else if (arguments.starts_with('@')) {
    const std::string file = unquoted(arguments.substr(1));
    if (file.empty()) refuse("wanted the name of a file behind the @, found none");
    set_system(chat, read_text_file(file, kMostSystemBytes));
  } else if (!arguments.empty()) {
    set_system(chat, arguments);
  }
  const std::string& system = chat.settings.now.system;
  chat.front_end().command_output(
      "system", system.empty() ? "The system prompt is empty." : "System prompt: " + system);
}

void do_reopen(ChatParts& chat, std::string_view device) {
  if (chat.model.loading()) refuse("the model is still loading");
  chat.model.set_loading();
  chat.reporter.set_state(ChatState::loading, 0);
  chat.worker.reopen(std::string(device));
  chat.reporter.send_status();
}

}  // namespace bitnet
