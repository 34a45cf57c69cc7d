#include "conversation.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "app/base/clock.h"
#include "app/store/message_tree.h"
#include "listing.h"
#include "refuse.h"

namespace bitnet {

std::vector<PromptMessage> prompt_messages(std::span<const BranchMessage> messages) {
  std::vector<PromptMessage> result;
  for (const BranchMessage& message : messages)
    result.push_back({message.stored.role, message.stored.text, message.tokens});
  return result;
}

Conversation::Conversation(Store& file, SettingsInUse& settings, const ModelState& model, Reporter& reporter)
    : settings_(settings), model_(model), reporter_(reporter), storage_(file, *this, reporter) {}

std::optional<int64_t> Conversation::leaf() const {
  if (branch_.empty()) return std::nullopt;
  return branch_.back().stored.id;
}

ShownMessage Conversation::shown(const BranchMessage& message) const {
  const StoredMessage& m = message.stored;
  const bool elsewhere = m.draft && !(open_turn_ && open_turn_->message == m.id);
  ShownMessage shown{m.id,           m.role,          m.text,          elsewhere ? "elsewhere" : m.finish,
                     message.number, message.sibling, message.siblings};
  shown.thought_tokens = m.thought_tokens;
  if (m.role == Role::assistant) split_thought(shown);
  return shown;
}

void Conversation::describe(Status& status) const {
  status.conversation = storage_.number_in_file();
  status.title = title_;
  status.saved = storage_.in_file();
  status.is_private = storage_.is_private() || settings_.now.is_private;
}

std::vector<int32_t> Conversation::prompt_of(size_t count) const {
  return build_prompt(*model_->text, settings_.now.system, prompt_messages(std::span(branch_).first(count)),
                      template_now(), settings_.now.think);
}

void Conversation::show_all() {
  show_branch();
  reporter_.send_status();
}

void Conversation::show_branch() {
  std::vector<ShownMessage> messages;
  for (const BranchMessage& message : branch_) messages.push_back(shown(message));
  reporter_.front_end().transcript(messages);
}

// What the context held after the last answer, if that was made with this model and prompt: a long
// conversation is shown without being rendered and encoded.
std::optional<uint32_t> Conversation::used_then() {
  const StoredMessage& last = branch_.back().stored;
  if (last.role != Role::assistant) return std::nullopt;
  const std::vector<StoredTurn> turns = store().turns(last.id);
  if (turns.empty()) return std::nullopt;
  const StoredTurn& turn = turns.back();
  // The old fingerprint tells tokenizers and templates apart just as well.
  const ModelInfo& model = model_->model;
  const bool same_model = turn.model_hash == model.fingerprint || turn.model_hash == model.old_fingerprint;
  if (!same_model || turn.system != settings_.now.system ||
      turn.template_hash != hash_text(model_->text->chat_template.source())) {
    return std::nullopt;
  }
  return turn.prompt_tokens + turn.answer_tokens;
}

const std::vector<std::vector<int32_t>>& Conversation::answers_elsewhere() {
  constexpr size_t kMostTokens = 1 << 16;  // 16 bytes each in Drafts
  const std::string& model = model_->model.fingerprint;
  if (elsewhere_.number != number() || elsewhere_.model != model) {
    elsewhere_ = {number(), model, {}};
    if (!store().is_private()) elsewhere_.answers = store().latest_answers(model, number(), kMostTokens);
  }
  return elsewhere_.answers;
}

OtherAnswers Conversation::other_answers() try {
  if (number() == 0) return {};
  OtherAnswers others{answers_elsewhere()};
  const std::vector<OutlineMessage> all = store().outline(number());
  if (all.size() <= branch_.size() || branch_.size() < 2) return others;
  std::unordered_set<int64_t> shown, questions;  // questions: to which an answer is a sibling
  for (const BranchMessage& message : branch_) shown.insert(message.stored.id);
  const std::optional<int64_t> asked_behind = branch_[branch_.size() - 2].stored.parent;
  auto tokens = store().answer_tokens(number());
  std::vector<int32_t> sibling;
  for (const OutlineMessage& message : all) {
    if (message.role == Role::user && message.parent == asked_behind) questions.insert(message.id);
    const auto found = tokens.find(message.id);
    if (found == tokens.end() || shown.contains(message.id)) continue;
    std::vector<int32_t>& answer = others.tokens.emplace_back(std::move(found->second));
    if (message.parent && questions.contains(*message.parent)) answer.swap(sibling);
  }
  // The latest sibling comes last; where it stood there is the one before it.
  std::erase(others.tokens, std::vector<int32_t>());
  others.ends_with_sibling = !sibling.empty();
  if (others.ends_with_sibling) others.tokens.push_back(std::move(sibling));
  return others;
} catch (const Error&) {  // they only make an answer faster
  return {};
}

void Conversation::update_context() {
  Status& status = reporter_.status();
  status.context_used = 0;
  if (!model_ || branch_.empty()) return;
  if (const auto used = used_then()) {
    status.context_used = *used;
    return;
  }
  try {
    status.context_used = static_cast<uint32_t>(prompt_of(branch_.size()).size());
  } catch (const Error&) {
    // A template may refuse an unfinished conversation; the next turn will say so.
  }
}

void Conversation::begin_new() {
  storage_.set_number(0);
  settings_.now.system = settings_.new_system;
  wear(settings_.new_persona, settings_.now, settings_.defaults,
       kept_beside(settings_.new_persona, settings_.defaults));
  settings_.now.think = settings_.new_think;
  title_.clear();
  first_title_.reset();
  branch_.clear();
  undone_.clear();
  update_context();
}

void Conversation::open(const StoredConversation& row) {
  branch_ = read_branch(storage_.database(), row.id, row.leaf);
  created_ = row.created;
  once_ = row.once;
  settings_.now.system = row.system;
  title_ = row.title;
  first_title_.reset();
  undone_.clear();
  storage_.open(row.id);
  settle_branch();
  update_context();
}

// StoredTurn::sampler of the last answer, or of the last one before it that says how it was made: one that
// was given need not. Empty where none does.
std::string Conversation::settings_then() {
  for (auto answer = branch_.rbegin(); answer != branch_.rend(); ++answer) {
    if (answer->stored.role != Role::assistant) continue;
    const std::vector<StoredTurn> turns = store().turns(answer->stored.id);
    if (!turns.empty() && turns.back().sampler != "{}") return turns.back().sampler;
  }
  return "";
}

// The persona of the last answer, and whether the model thought in it, as the person had asked for; the
// command line wins.
void Conversation::settle_branch() {
  constexpr SettingSource kKeeps = SettingSource::command_line;
  std::optional<bool> think = settings_.new_think;
  Persona persona;
  settings_.now.utc_offset = utc_offset(created_);  // unless the answer says another one
  try {
    if (const std::string sampler = settings_then(); !sampler.empty()) {
      ChatSettings then;
      then.utc_offset = settings_.now.utc_offset;
      from_json(sampler, then);
      settings_.now.utc_offset = then.utc_offset;
      if (source_of(settings_.defaults, "think") != SettingSource::command_line) think = then.think;
      persona = then.persona;
      ChatSettings scratch = settings_.now;
      wear(persona, scratch, settings_.defaults, kKeeps);  // a stranger's file may have any
    }
  } catch (const Error&) {
    persona = {};  // nobody knows how it was made
  }
  wear(persona, settings_.now, settings_.defaults, kKeeps);
  settings_.now.think = think;
}

void Conversation::set_title(std::string_view title) {
  const std::string wanted(title);
  keep([&] { store().set_title(number(), wanted); });  // title_ is what the database has until then
  title_ = wanted;
}

std::string Conversation::before_first_turn() {
  const auto row = number() == 0 || !branch_.empty() ? std::nullopt : store().conversation(number());
  return row ? bitnet::before_first_turn("This conversation", *row) : "";
}

bool Conversation::title_is_first_line() const { return title_ == first_title_; }

std::vector<BranchMessage> Conversation::read_branch(Store& store, int64_t number,
                                                     std::optional<int64_t> leaf) const {
  std::vector<BranchMessage> branch;
  if (!leaf) return branch;
  auto tokens = store.answer_tokens(number);
  std::vector<StoredMessage> messages = store.messages(number);
  std::vector<OutlineMessage> outline;
  outline.reserve(messages.size());
  for (const StoredMessage& m : messages) outline.push_back({m.id, m.parent, m.role, false, m.created});
  const MessageTree tree(std::move(outline));
  for (const int64_t id : tree.path(*leaf)) {
    const MessageTree::Place place = tree.place(id);
    StoredMessage& message = messages[static_cast<size_t>(place.number - 1)];
    BranchMessage loaded;
    if (message.role == Role::assistant) loaded.tokens = std::move(tokens[id]);
    loaded.number = place.number;
    loaded.sibling = place.sibling;
    loaded.siblings = place.siblings;
    loaded.stored = std::move(message);
    branch.push_back(std::move(loaded));
  }
  return branch;
}

int64_t Conversation::step_back_to(size_t count) {
  // An id is looked up in what keep() runs: a copy in memory has others.
  keep([&] {
    store().set_leaf(number(), count == 0 ? std::nullopt : std::optional(branch_[count - 1].stored.id));
  });
  const int64_t left = branch_.back().stored.id;
  branch_.resize(count);
  update_context();
  show_all();
  return left;
}

void Conversation::move_to(std::optional<int64_t> leaf) {
  undone_.clear();
  go_to(leaf);
}

void Conversation::go_to(std::optional<int64_t> leaf) {
  const Store* const known_there = &store();
  const auto at = std::find_if(branch_.begin(), branch_.end(),
                               [&](const BranchMessage& message) { return message.stored.id == leaf; });
  keep([&] {
    if (leaf && &store() != known_there) {  // a copy in memory, which has this branch alone
      if (at == branch_.end()) refuse("that message is on another branch, and only this one is in memory");
      leaf = at->stored.id;
    }
    store().set_leaf(number(), leaf);
  });
  branch_ = read_branch(store(), number(), leaf);
  update_context();
  show_all();
}

void Conversation::step_back_from_answer() { undone_.push_back(step_back_to(branch_.size() - 1)); }

bool Conversation::undo() {
  const auto last_user = std::find_if(branch_.rbegin(), branch_.rend(),
                                      [](const BranchMessage& m) { return m.stored.role == Role::user; });
  if (last_user == branch_.rend()) return false;
  undone_.push_back(step_back_to(static_cast<size_t>(branch_.rend() - last_user) - 1));
  return true;
}

// After a restart nobody knows what was undone; the newest turn is the best guess.
bool Conversation::redo() {
  if (number() == 0) return false;
  if (!undone_.empty()) {
    const int64_t leaf = undone_.back();
    undone_.pop_back();
    go_to(leaf);
    return true;
  }
  const MessageTree tree(store().outline(number()));
  const std::vector<int64_t>& next = tree.children(leaf());
  if (next.empty()) return false;
  go_to(tree.answer_below(next.back()));
  return true;
}

void Conversation::push_message(StoredMessage message) {
  branch_.emplace_back();
  BranchMessage& added = branch_.back();  // there first: a database that fails now takes it along into memory
  added.stored = std::move(message);
  keep([&] {
    const MessageTree::Place place = MessageTree(store().outline(number())).place(added.stored.id);
    added.number = place.number;
    added.sibling = place.sibling;
    added.siblings = place.siblings;
  });
  reporter_.front_end().message(shown(added));
}

// In what keep() runs, ids are asked for anew: they are others once the database has failed.
void Conversation::add_user_message(const std::string& text, const std::string& title) {
  if (number() == 0) {
    created_ = now_milliseconds();
    keep([&] {
      storage_.set_number(store().add_conversation(settings_.now.system, settings_.now.once, {}, created_));
      title_ = title;
      first_title_ = title;
      store().set_title(number(), title_);
    });
    settings_.now.utc_offset = utc_offset(created_);
  }
  StoredMessage message;
  message.text = text;
  keep([&] {
    // Who goes on with a question of the command line in a chat makes it a conversation.
    if (once_ && !settings_.now.once) store().set_once(number(), false);
    message.parent = leaf();
    std::optional<std::string_view> shown;
    if (!branch_.empty()) shown = branch_.back().stored.text;
    message.id = store().add_message(number(), message.parent, Role::user, text, shown);
  });
  push_message(std::move(message));
}

void Conversation::add_answer(StoredMessage answer, const std::vector<StoredToken>& tokens) {
  answer.role = Role::assistant;
  const std::string finish = answer.finish.empty() ? name_of(Finish::interrupted) : answer.finish;
  keep([&] {
    answer.parent = leaf();
    answer.id = store().add_answer(number(), answer.parent, answer.text, finish, tokens,
                                   to_json(settings_.now, 0), answer.thought_tokens);
  });
  push_message(std::move(answer));
  for (const StoredToken& token : tokens) branch_.back().tokens.push_back(token.id);
}

void Conversation::catch_up() {
  if (branch_.empty() || open_turn_) return;
  const StoredMessage& last = branch_.back().stored;
  bool is_draft = false;
  try {
    std::optional<StoredMessage> now = store().message(last.id);
    if (now && now->draft) {
      store().mark_abandoned_drafts();
      now = store().message(last.id);
    }
    if (!now || (now->text == last.text && !now->draft && !last.draft)) return;
    is_draft = now->draft;
    branch_ = read_branch(store(), number(), last.id);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::database) throw;
    return;  // what is sent is kept elsewhere then
  }
  update_context();
  show_all();
  if (is_draft) refuse("another program is still writing the last answer; wait until it is finished");
  reporter_.front_end().notice("Another program has gone on with the last answer, as it is shown now.");
}

bool Conversation::is_followed() { return !store().children(number(), branch_.back().stored.id).empty(); }

void Conversation::copy_answer() {
  StoredMessage copy = branch_.back().stored;
  const std::vector<StoredToken> tokens = store().message_tokens(copy.id);
  step_back_to(branch_.size() - 1);
  add_answer(std::move(copy), tokens);
}

std::string Conversation::take_back() {
  const std::string text = branch_.back().stored.text;
  const int64_t left = step_back_to(branch_.size() - 1);
  const Store* const known_there = &store();
  if (store().children(number(), left).empty()) {
    keep([&] {
      if (&store() == known_there) store().remove_message(left);  // a copy in memory is of the branch alone
    });
    if (store().outline(number()).empty()) {
      keep([&] { store().remove_conversation(number()); });
      storage_.set_number(0);
      title_.clear();
      reporter_.send_status();
    }
  }
  return text;
}

void Conversation::begin_answer(StoredTurn turn, bool continues) {
  undone_.clear();
  const StoredTurn wanted = std::move(turn);
  keep([&] {
    turn = wanted;
    if (!continues) {
      turn = store().begin_turn(number(), leaf(), turn);
      return;
    }
    const StoredMessage& last = branch_.back().stored;
    turn.message = last.id;
    turn = store().begin_turn(number(), last.parent, turn, last.text);
  });
  open_turn_ = turn;
  if (continues) {
    branch_.back().stored.finish.clear();
    branch_.back().stored.draft = true;
    pieces_.emplace(reporter_.front_end(), branch_.back().stored.text);
    return show_branch();
  }
  pieces_.emplace(reporter_.front_end());
  StoredMessage answer;
  answer.id = turn.message;
  answer.parent = leaf();
  answer.role = Role::assistant;
  answer.draft = true;
  push_message(std::move(answer));
}

void Conversation::grow_answer(std::string_view text, const SampledToken& token) {
  grow(branch_.back(), *pieces_, text, token);
}

uint32_t Conversation::thought_tokens() const {
  return branch_.empty() ? 0 : branch_.back().stored.thought_tokens;
}

void Conversation::store_answer(std::string_view text, const std::vector<StoredToken>& tokens) {
  const bool was_unsaved = storage_.unsaved_because() != nullptr;
  keep([&] {
    // After a lost database the text of the whole answer was copied already.
    const bool copied = !was_unsaved && storage_.unsaved_because() != nullptr;
    store().append(*open_turn_, copied ? std::string_view() : text, tokens);
  });
}

void Conversation::finish_answer(const std::string& reason, const JobStats& stats) {
  note_outcome(*open_turn_, reason, stats, pieces_->thought_tokens());
  keep([&] { store().finish_turn(*open_turn_); });
  branch_.back().stored.finish = reason;
  branch_.back().stored.draft = false;
  open_turn_.reset();
  pieces_->finish();
  pieces_.reset();
}

void Conversation::leave_answer(uint32_t tokens) noexcept {
  try {
    open_turn_->finish = name_of(Finish::interrupted);
    open_turn_->answer_tokens = tokens;
    if (pieces_) open_turn_->thought_tokens = pieces_->thought_tokens();
    store().finish_turn(*open_turn_);
  } catch (const Error&) {
    // What was stored before is there, and the next open marks it.
  }
  open_turn_.reset();
}

AnswerAside Conversation::put_answer_aside() {
  OpenAnswer answer{std::move(*open_turn_), branch_.back(), std::move(*pieces_)};
  open_turn_.reset();
  pieces_.reset();
  return {storage_.database(), number(), std::move(answer)};
}

bool Conversation::take_in_answer(AnswerAside& aside) {
  if (number() != aside.conversation() || storage_.is_private() || leaf() != aside.message()) return false;
  if (!aside.problem().empty()) return false;  // it ends, with as much as is stored
  OpenAnswer answer = aside.take();
  branch_.back().stored = std::move(answer.message.stored);
  branch_.back().tokens = std::move(answer.message.tokens);
  open_turn_ = std::move(answer.turn);
  pieces_ = std::move(answer.pieces);
  pieces_->show_to(&reporter_.front_end());
  return true;
}

}  // namespace bitnet
