// What the slash commands do to the conversation.
#include <fmt/format.h>

#include <algorithm>

#include "app/base/counted.h"
#include "chat_core.h"
#include "listing.h"

namespace bitnet {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::usage, why); }

std::string rate(uint32_t tokens, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f} tokens/s", tokens / seconds) : std::string("-");
}

}  // namespace

void ChatCore::new_conversation() {
  if (busy()) refuse("an answer is being made");
  conversation_ = 0;
  settings_.system = new_system_;
  branch_.clear();
  undone_.clear();
  status_.title.clear();
  forget_figures();
  update_context();
  show_all();
  drop_read_files();
}

// Another conversation is open: what was measured and looked at in the one before is not its.
void ChatCore::forget_figures() {
  status_.tokens_per_second = 0;
  status_.reused = 0;
  status_.prompt_tokens = 0;
  status_.rewound = rewinds_ = false;
  last_stats_ = {};
  last_seed_ = 0;
  looked_ = {};
}

// Another program may have deleted what is shown here; true: it has, and what was typed is given back.
bool ChatCore::leave_deleted_conversation(std::string_view typed) {
  const int64_t id = stored_conversation();
  if (id == 0 || unsaved_ || busy()) return false;
  try {
    if (store_.has_conversation(id)) return false;
  } catch (const Error&) {
    return false;  // whoever needs the database says what is wrong with it
  }
  std::string way_back;
  if (store_.conversation(id)) {
    way_back = fmt::format(" /undelete {} brings it back.", id);
  } else {
    worker_.forget_timelines();
  }
  new_conversation();
  tell_error(fmt::format(
      "Conversation {} was deleted by another program.{} What you send now begins a new one; your text is in "
      "the input line.",
      id, way_back));
  front_.return_input(typed);
  return true;
}

void ChatCore::open_conversation(int64_t id) {
  take_conversation(id);
  show_all();
  drop_read_files();
  if (!branch_.empty() && branch_.back().stored.role == Role::user) {
    front_.notice("The last turn has no answer yet; /regen answers it.");
  }
}

void ChatCore::take_conversation(int64_t id) {
  if (busy()) refuse("an answer is being made");
  find_conversation(database(), id, "/list shows them");
  const StoredConversation row = conversation_to_open(database(), id);
  if (private_) private_store_.reset();  // read from the file, then copied
  conversation_ = id;
  created_ = row.created;
  settings_.system = row.system;
  status_.title = row.title;
  undone_.clear();
  forget_figures();
  load_branch(row.leaf);
  if (private_) private_store_ = memory_copy(nullptr);
  update_context();
}

void ChatCore::continue_answer() {
  if (!model_) refuse("the model is not loaded");
  if (branch_.empty() || branch_.back().stored.role != Role::assistant)
    refuse("there is no answer to go on with");
  if (branch_.back().stored.finish == name_of(Finish::stop)) {
    refuse("the last answer is finished, so there is nothing to continue; /regen gives another one");
  }
  start_answer();
}

void ChatCore::reopen(const std::string& device) {
  if (!model_ && !failure_) refuse("the model is still loading");
  failure_.reset();
  model_.reset();
  status_.state = ChatState::loading;
  status_.progress = 0;
  worker_.reopen(device);
  send_status();
}

void ChatCore::change_settings(ChatSettings changed) {
  if (changed.ctx != settings_.ctx && model_) {
    const uint32_t most = model_->model.n_ctx_train;
    if (changed.ctx > most) {
      refuse(fmt::format("ctx: wanted 0 to {}, what the model was trained for, found {}", most, changed.ctx));
    }
    if (busy()) refuse("ctx has to wait: an answer is being made");
  }
  settings_ = std::move(changed);
  if (model_) fit_context();
}

void ChatCore::fit_context() {
  const uint32_t most = model_->model.n_ctx_train;
  if (settings_.ctx > most) {
    front_.error(fmt::format("ctx: wanted 0 to {}, what the model was trained for, found {}; it stays {}",
                             most, settings_.ctx, model_->n_ctx));
    settings_.ctx = model_->n_ctx;
  }
  if ((settings_.ctx == 0 ? most : settings_.ctx) == model_->n_ctx) return;
  ModelTask task;
  task.on_finish = [this](const Finished& finished) {
    if (!model_) return;
    if (finished.reason == "stop") {
      front_.notice(fmt::format("The context holds {} tokens now; the next turn is read from its beginning.",
                                model_->n_ctx));
    } else {
      settings_.ctx = model_->n_ctx;
      tell_error(fmt::format("The context still holds {} tokens: {}", model_->n_ctx, finished.message));
    }
    begin_waiting_turn();
  };
  start_task(ContextJob{settings_.ctx}, std::move(task));
}

void ChatCore::set_system(std::string_view text) {
  settings_.system = new_system_ = text;
  if (conversation_ != 0) keep([&] { store().set_system(conversation_, settings_.system); });
  update_context();
  send_status();
}

void ChatCore::delete_conversation(std::optional<int64_t> id, bool now) {
  if (!id && private_) {
    new_conversation();
    return front_.command_output("delete", "This conversation was not stored, and it is gone.");
  }
  const int64_t which = id.value_or(conversation_);
  if (which == 0) refuse("this conversation is not stored yet");
  refuse_while_unsaved(which);
  find_conversation(database(), which, "/list shows them");
  std::string text;
  if (now) {
    text = fmt::format("Conversation {} is deleted {}.", which, purge_text(database(), which));
    worker_.forget_timelines();  // one of them may be its
  } else if (database().set_deleted(which, true)) {
    text = fmt::format(
        "Conversation {0} is deleted. /undelete {0} brings it back within {1} days; /delete {0} now "
        "takes it out for good.",
        which, kTrashDays);
  } else {
    refuse(fmt::format("conversation {0} is in the trash already; /delete {0} now takes it out for good",
                       which));
  }
  if (which == listed_conversation()) new_conversation();
  front_.command_output("delete", text);
}

// Without `id`, the one that was deleted last. It is opened where nothing was said since.
void ChatCore::undelete_conversation(std::optional<int64_t> id) {
  if (!id) {
    const auto trash = database().trash();
    if (trash.empty()) refuse("the trash is empty");
    id = trash.front().id;
  }
  find_conversation(database(), *id, "/list deleted shows the trash");
  if (!database().set_deleted(*id, false)) refuse(fmt::format("conversation {} is not in the trash", *id));
  if (!branch_.empty() || private_) {
    return front_.command_output("undelete",
                                 fmt::format("Conversation {0} is back; /open {0} goes on with it.", *id));
  }
  open_conversation(*id);
  front_.command_output("undelete", fmt::format("Conversation {} is back.", *id));
}

void ChatCore::set_title(std::string_view title) {
  if (conversation_ == 0) refuse("this conversation is not stored yet: it is once you have said something");
  status_.title = title.substr(0, title.find('\n'));
  keep([&] { store().set_title(conversation_, status_.title); });
  send_status();
}

void ChatCore::archive(std::optional<int64_t> id, bool archived) {
  const int64_t which = id.value_or(listed_conversation());
  if (which == 0) refuse("this conversation is not stored");
  refuse_while_unsaved(which);
  if (!database().set_archived(which, archived)) {
    throw Error(ErrorKind::runtime, fmt::format("there is no conversation {}; /list all shows them", which));
  }
  if (archived && which == listed_conversation()) new_conversation();
  front_.command_output("archive",
                        archived ? fmt::format("Conversation {0} is put away: /list all shows it, /open {0} "
                                               "opens it, /archive off {0} takes it back.",
                                               which)
                                 : fmt::format("Conversation {} is in /list again.", which));
}

std::string ChatCore::list_text(bool archived) {
  std::string text = bitnet::list_text(database(), listed_conversation(), archived);
  if (unsaved_) {
    return fmt::format("The database cannot be used: {}. In memory until then:\n{}", unsaved_->why, text);
  }
  return text.empty() ? "Nothing is stored yet." : text;
}

std::string ChatCore::trash_text() {
  const std::string text = bitnet::trash_text(database());
  if (text.empty()) return "The trash is empty.";
  return text + "/undelete ID brings one back; /delete ID now takes it out for good.";
}

std::string ChatCore::search_text(std::string_view words) {
  if (words.empty()) refuse("/search wants words to look for");
  const std::string text = bitnet::search_text(database(), words);
  return text.empty() ? "Nothing found." : text;
}

std::string ChatCore::settings_text(std::string_view name) const {
  if (!name.empty()) setting_named(name);
  std::string text;
  for (const Setting& setting : settings_table()) {
    if (!name.empty() && name != setting.name) continue;
    text +=
        fmt::format("{:<14} = {:<6} (default {}; {}), default of {}\n", setting.name, setting.show(settings_),
                    setting.show(defaults_), setting.range, name_of(source_of(defaults_, setting.name)));
    if (!name.empty()) text += fmt::format("  {}\n", setting.help);
  }
  if (!model_ && !failure_ && defaults_.begun_as == SettingSource::program)
    text += "The model is still loading; its file may have other defaults.\n";
  return text;
}

std::string ChatCore::show_model() const {
  if (!model_) return failure_ ? failure_->what() : "The model is still loading.";
  const ModelInfo& m = model_->model;
  return fmt::format(
      "{}\n"
      "file          {}\n"
      "architecture  {}, {} layers, {} wide, feed-forward {}, {} heads of {} over {} KV heads\n"
      "weights       {} ternary, {} bytes in all\n"
      "vocabulary    {} tokens, pre-tokenizer {}\n"
      "context       {} tokens here, {} in training\n"
      "template      {}\n"
      "fingerprint   {}\n"
      "device        {} ({}{}{})",
      m.name.empty() ? "(no name)" : m.name, model_->text->path, m.architecture, m.n_layer, m.n_embd, m.n_ff,
      m.n_head, m.head_dim, m.n_head_kv, m.n_ternary, m.file_bytes, m.n_vocab, model_->text->tokenizer.pre(),
      model_->n_ctx, m.n_ctx_train,
      model_->text->template_replaced ? "the form the model was trained with, in place of the file's"
                                      : "the file's own",
      m.fingerprint, model_->device.name, model_->device.driver, model_->device.cpu ? "" : ", Vulkan ",
      model_->device.api);
}

std::string ChatCore::show_prompt() const {
  if (!model_) refuse("the model is not loaded");
  if (branch_.empty()) return "Nothing was said yet.";
  // What the model saw before the last answer, or will see next.
  const bool answered = branch_.back().stored.role == Role::assistant;
  const std::vector<int32_t> ids = prompt_for(answered ? branch_.size() - 1 : branch_.size());
  return fmt::format("{}\n({})", model_->text->tokenizer.decode(ids, /*show_special=*/true),
                     counted(ids.size(), "token"));
}

std::string ChatCore::show_context() const {
  if (!model_) refuse("the model is not loaded");
  const uint32_t limit = status_.context_limit;
  const uint32_t used = status_.context_used;
  std::string text = fmt::format("{} of {} tokens used ({:.0f} %), {} left", used, limit,
                                 limit == 0 ? 0.0 : 100.0 * used / limit, limit - std::min(used, limit));
  if (status_.prompt_tokens > 0)
    text += fmt::format("; last prompt: reused {} of {} tokens", status_.reused, status_.prompt_tokens);
  return text;
}

std::string ChatCore::show_stats() {
  if (last_stats_.prompt_tokens == 0) return "No answer was made since this conversation was opened.";
  const JobStats& s = last_stats_;
  const uint32_t computed = s.prompt_tokens - std::min(s.prompt_tokens, s.reused_tokens);
  return fmt::format(
      "prompt  {}, reused {}, computed {} in {:.2f} s ({})\nanswer  {} in {:.2f} s ({})\nseed  "
      "  {}",
      counted(s.prompt_tokens, "token"), s.reused_tokens, computed, s.prefill_seconds,
      rate(computed, s.prefill_seconds), counted(s.answer_tokens, "token"), s.decode_seconds,
      rate(s.answer_tokens, s.decode_seconds), last_seed_);
}

}  // namespace bitnet
