// Conversations as JSON: this program's own, OpenAI's messages and ShareGPT's.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "app/text/thinking.h"
#include "engine/error.h"
#include "engine/json_reader.h"
#include "exchange.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;
constexpr const char* kFormat = "bitnet-chat conversation";
constexpr int kVersion = 1;
// No format has so many names in one object. The order of names is kept, for a turn's settings.
constexpr size_t kMostNames = 256;
constexpr JsonLimits kImported{.bytes = size_t{1} << 30, .names = kMostNames};
// A turn's settings are shallow. Settings that are not, or have too many names, are written as the text that
// is stored, so a file is never more than what can be read again.
constexpr JsonLimits kSampler{.bytes = size_t{1} << 20, .depth = 16, .names = kMostNames};

std::string dump(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

// ---- writing

// JSON has neither NaN nor infinity. A missing probability is NaN, and is written as null.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json turn_object(const WholeTurn& whole) {
  const StoredTurn& t = whole.stored;
  json sampler = is_json(t.sampler, kSampler) ? read_ordered_json(t.sampler, kSampler) : json(t.sampler);
  json ids = json::array();
  json logprobs = json::array();
  json seconds = json::array();
  for (const StoredToken& token : whole.tokens) {
    ids.push_back(token.id);
    logprobs.push_back(number(token.logprob));
    seconds.push_back(number(token.seconds));
  }
  return {{"seed", t.seed},
          {"sampler", sampler},
          {"system", t.system},
          {"build", t.build},
          {"device", t.device},
          {"driver", t.driver},
          {"model", t.model},
          {"model_hash", t.model_hash},
          {"template_hash", t.template_hash},
          {"prompt_hash", t.prompt_hash},
          {"prompt_tokens", t.prompt_tokens},
          {"reused_tokens", t.reused_tokens},
          {"answer_tokens", t.answer_tokens},
          {"thought_tokens", t.thought_tokens},
          {"prefill_seconds", number(t.prefill_seconds)},
          {"decode_seconds", number(t.decode_seconds)},
          {"finish", t.finish},
          {"started", t.started},
          {"ids", ids},
          {"logprobs", logprobs},
          {"seconds", seconds}};
}

json optional_number(const std::optional<int64_t>& value) { return value ? json(*value) : json(nullptr); }

json everything(const WholeConversation& whole) {
  json messages = json::array();
  for (const WholeMessage& message : whole.messages) {
    const StoredMessage& m = message.stored;
    json object = {{"id", m.id},           {"parent", optional_number(m.parent)},
                   {"kept", message.kept}, {"role", name_of(m.role)},
                   {"text", m.text},       {"finish", m.finish},
                   {"created", m.created}};
    if (m.role == Role::assistant) {
      object["turns"] = json::array();
      for (const WholeTurn& turn : message.turns) object["turns"].push_back(turn_object(turn));
    }
    messages.push_back(std::move(object));
  }
  const StoredConversation& row = whole.row;
  return {{"format", kFormat},      {"version", kVersion},      {"id", row.id},
          {"title", row.title},     {"system", row.system},     {"created", row.created},
          {"updated", row.updated}, {"archived", row.archived}, {"leaf", optional_number(row.leaf)},
          {"messages", messages}};
}

json openai(const WholeConversation& whole) {
  json messages = json::array();
  if (!whole.row.system.empty()) messages.push_back({{"role", "system"}, {"content", whole.row.system}});
  for (const WholeMessage* message : shown_branch(whole)) {
    const StoredMessage& m = message->stored;
    json object = {{"role", name_of(m.role)}, {"content", m.text}};
    const SplitAnswer split = split_answer(m.text);
    if (m.role == Role::assistant && split.thinks && m.text == join_answer(split.thought, split.answer)) {
      object["content"] = split.answer;
      object["reasoning_content"] = split.thought;
    }
    messages.push_back(std::move(object));
  }
  return {{"messages", messages}};
}

// ---- reading

// A value and where it stands, for messages: "messages[3].content".
struct At {
  const json& value;
  std::string path;

  [[noreturn]] void refuse(const std::string& wanted) const {
    std::string found = value.is_object()  ? "an object"
                        : value.is_array() ? fmt::format("a list of {}", value.size())
                                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (found.size() > 60) found = found.substr(0, 60) + "...";
    throw Error(ErrorKind::runtime, fmt::format("{}: wanted {}, found {}", path.empty() ? "the file" : path,
                                                wanted, printable(found)));
  }
  bool has(const char* key) const { return value.is_object() && value.contains(key); }
  At operator[](const char* key) const {
    if (!value.is_object()) refuse("an object");
    const auto found = value.find(key);
    if (found == value.end()) refuse(fmt::format("\"{}\" in it", key));
    return {*found, path.empty() ? key : fmt::format("{}.{}", path, key)};
  }
  At operator[](size_t index) const { return {value[index], fmt::format("{}[{}]", path, index)}; }
  size_t size() const {
    if (!value.is_array()) refuse("a list");
    return value.size();
  }
  std::string text() const {
    if (!value.is_string()) refuse("a text");
    return value.get<std::string>();
  }
  int64_t integer(int64_t least, int64_t most) const {
    const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{1} << 62;
    if (!value.is_number_integer() || too_large || value.get<int64_t>() < least ||
        value.get<int64_t>() > most) {
      refuse(fmt::format("a whole number from {} to {}", least, most));
    }
    return value.get<int64_t>();
  }
  double real() const {
    if (!value.is_number() || std::abs(value.get<double>()) > 1e30) refuse("a number");
    return value.get<double>();
  }
  bool boolean() const {
    if (!value.is_boolean()) refuse("true or false");
    return value.get<bool>();
  }
  // A number below `end`, or null.
  std::optional<int64_t> earlier(int64_t end) const {
    if (value.is_null()) return std::nullopt;
    if (end <= 1) refuse("null: no message stands before this one");
    return integer(1, end - 1);
  }
};

constexpr int64_t kAnyTime = int64_t{1} << 53;  // every JSON reader reads such numbers exactly
constexpr int64_t kAnyCount = std::numeric_limits<uint32_t>::max();

std::string finish_reason(const At& at) {
  std::string reason = at.text();
  const bool plain =
      reason.size() <= 32 && reason.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  if (!plain) at.refuse("a reason such as \"stop\"");
  return reason;
}

// These two read lists that may be long: an element that is right costs no path for a message. A missing
// probability is null.
float real_at(const At& list, size_t i) {
  const json& value = list.value[i];
  if (value.is_null()) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<float>(
      value.is_number_float() && std::abs(value.get<double>()) < 1e30 ? value.get<double>() : list[i].real());
}
int32_t token_id(const At& list, size_t i) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const json& value = list.value[i];
  if (value.is_number_unsigned() && value.get<uint64_t>() <= kMost) return value.get<int32_t>();
  return static_cast<int32_t>(list[i].integer(0, kMost));
}

WholeTurn read_turn(const At& at) {
  WholeTurn whole;
  StoredTurn& t = whole.stored;
  const At seed = at["seed"];
  if (!seed.value.is_number_unsigned()) seed.refuse("a whole number from 0");
  t.seed = seed.value.get<uint64_t>();
  const At sampler = at["sampler"];
  t.sampler = sampler.value.is_string() ? sampler.text() : sampler.value.dump();
  t.system = at["system"].text();
  t.build = at["build"].text();
  t.device = at["device"].text();
  t.driver = at["driver"].text();
  t.model = at["model"].text();
  t.model_hash = at["model_hash"].text();
  t.template_hash = at["template_hash"].text();
  t.prompt_hash = at["prompt_hash"].text();
  t.prompt_tokens = static_cast<uint32_t>(at["prompt_tokens"].integer(0, kAnyCount));
  t.reused_tokens = static_cast<uint32_t>(at["reused_tokens"].integer(0, kAnyCount));
  t.answer_tokens = static_cast<uint32_t>(at["answer_tokens"].integer(0, kAnyCount));
  if (at.has("thought_tokens"))  // earlier versions did not write it
    t.thought_tokens = static_cast<uint32_t>(at["thought_tokens"].integer(0, kAnyCount));
  t.prefill_seconds = at["prefill_seconds"].real();
  t.decode_seconds = at["decode_seconds"].real();
  t.finish = finish_reason(at["finish"]);
  t.started = at["started"].integer(0, kAnyTime);
  const At ids = at["ids"];
  const At logprobs = at["logprobs"];
  const At seconds = at["seconds"];
  const size_t count = ids.size();
  if (logprobs.size() != count) logprobs.refuse(fmt::format("as many as there are ids, {}", count));
  if (seconds.size() != count) seconds.refuse(fmt::format("as many as there are ids, {}", count));
  for (size_t i = 0; i < count; ++i) {
    whole.tokens.push_back({token_id(ids, i), real_at(logprobs, i), real_at(seconds, i)});
  }
  return whole;
}

Role own_role(const At& at) {
  const std::string name = at.text();
  for (const Role role : {Role::system, Role::user, Role::assistant}) {
    if (name == name_of(role)) return role;
  }
  at.refuse("\"user\", \"assistant\" or \"system\"");
}

WholeConversation read_everything(const At& at) {
  if (at["version"].integer(0, kAnyTime) != kVersion) {
    at["version"].refuse(fmt::format("version {}; a newer bitnet-chat wrote this file", kVersion));
  }
  WholeConversation whole;
  whole.row.title = at["title"].text();
  if (whole.row.title.find('\n') != std::string::npos) at["title"].refuse("one line");
  whole.row.system = at["system"].text();
  whole.row.created = at["created"].integer(0, kAnyTime);
  whole.row.updated = at["updated"].integer(0, kAnyTime);
  whole.row.archived = at["archived"].boolean();
  const At messages = at["messages"];
  for (size_t i = 0; i < messages.size(); ++i) {
    const At object = messages[i];
    const auto id = static_cast<int64_t>(i) + 1;
    WholeMessage message;
    StoredMessage& m = message.stored;
    if (object["id"].integer(0, kAnyTime) != id) object["id"].refuse(fmt::format("{}, its place", id));
    m.id = id;
    m.parent = object["parent"].earlier(id);
    m.role = own_role(object["role"]);
    m.text = object["text"].text();
    m.finish = finish_reason(object["finish"]);
    m.created = object["created"].integer(0, kAnyTime);
    message.kept = object["kept"].boolean();
    if (m.role == Role::assistant) {
      const At turns = object["turns"];
      for (size_t t = 0; t < turns.size(); ++t) message.turns.push_back(read_turn(turns[t]));
    }
    whole.messages.push_back(std::move(message));
  }
  whole.row.leaf = at["leaf"].earlier(static_cast<int64_t>(messages.size()) + 1);
  return whole;
}

// The content is a text or, as newer APIs write it, a list of parts, of which only texts can be read.
std::string content_of(const At& at) {
  if (!at.value.is_array()) return at.text();
  std::string text;
  for (size_t i = 0; i < at.size(); ++i) {
    const At part = at[i];
    if (part["type"].text() != "text") part["type"].refuse("\"text\", which is all this program can show");
    text += part["text"].text();
  }
  return text;
}

// What an OpenAI role or a ShareGPT name stands for.
Role foreign_role(const At& at) {
  const std::string name = at.text();
  for (const char* user : {"user", "human"}) {
    if (name == user) return Role::user;
  }
  for (const char* model : {"assistant", "gpt", "chatgpt", "model", "bot"}) {
    if (name == model) return Role::assistant;
  }
  for (const char* system : {"system", "developer"}) {
    if (name == system) return Role::system;
  }
  at.refuse("a role of a conversation: user (human), assistant (gpt) or system");
}

void add_foreign(WholeConversation& whole, Role role, std::string text) {
  if (role == Role::system && whole.messages.empty() && whole.row.system.empty()) {
    whole.row.system = std::move(text);
    return;
  }
  WholeMessage message;
  message.stored.role = role;
  message.stored.text = std::move(text);
  if (role == Role::assistant) message.stored.finish = "stop";
  whole.messages.push_back(std::move(message));
}

WholeConversation read_messages(const At& messages, const char* role, const char* content) {
  WholeConversation whole;
  for (size_t i = 0; i < messages.size(); ++i) {
    const At message = messages[i];
    const Role said_by = foreign_role(message[role]);
    std::string text = content_of(message[content]);
    if (said_by == Role::assistant && message.has("reasoning_content") &&
        message["reasoning_content"].value.is_string())
      text = join_answer(message["reasoning_content"].text(), text);
    add_foreign(whole, said_by, std::move(text));
  }
  if (whole.messages.empty()) messages.refuse("messages");
  whole.row.title = title_of(whole);
  return whole;
}

WholeConversation read_object(const At& at) {
  if (at.has("format") && at["format"].value == kFormat) return read_everything(at);
  WholeConversation whole =
      at.has("conversations") ? read_messages(at["conversations"], "from", "value")
      : at.has("messages")
          ? read_messages(at["messages"], "role", "content")
          : (at.refuse("\"messages\" (OpenAI) or \"conversations\" (ShareGPT) in it"), WholeConversation());
  if (at.has("system") && at["system"].value.is_string() && whole.row.system.empty()) {
    whole.row.system = at["system"].text();
  }
  if (at.has("title") && at["title"].value.is_string()) whole.row.title = title_from(at["title"].text());
  return whole;
}

}  // namespace

std::vector<WholeConversation> read_json_chats(std::string_view text) {
  std::vector<WholeConversation> all;
  // JSON lines, as in files for fine-tuning: each line is an object.
  const size_t first_line = text.find('\n');
  if (text.starts_with('{') && first_line != std::string_view::npos &&
      is_json(text.substr(0, first_line), kImported)) {
    for (size_t line = 1; !text.empty(); ++line) {
      const size_t end = text.find('\n');
      const std::string_view one = text.substr(0, end);
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
      if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      const json object = read_ordered_json(one, kImported);
      all.push_back(read_object({object, fmt::format("line {}", line)}));
    }
    return all;
  }
  const json root = read_ordered_json(text, kImported);
  const At at{root, ""};
  if (!root.is_array()) {
    all.push_back(read_object(at));
    return all;
  }
  if (at.size() == 0) at.refuse("a conversation in it");
  if (at[size_t{0}].has("role")) {
    all.push_back(read_messages(at, "role", "content"));
  } else if (at[size_t{0}].has("from")) {
    all.push_back(read_messages(at, "from", "value"));
  } else {
    for (size_t i = 0; i < at.size(); ++i) all.push_back(read_object(at[i]));
  }
  return all;
}

std::string write_chat(const WholeConversation& whole, ChatFormat format) {
  switch (format) {
    case ChatFormat::markdown:
      return write_markdown(whole);
    case ChatFormat::openai:
      return dump(openai(whole));
    case ChatFormat::json:
      break;
  }
  return dump(everything(whole));
}

}  // namespace bitnet
