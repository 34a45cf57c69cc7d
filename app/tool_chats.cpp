// Tools on what is stored: list, show, search, export, delete.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "chat_tree.h"
#include "engine/error.h"
#include "store_time.h"
#include "text_safe.h"
#include "tools.h"
#include "ui_line.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;
constexpr int64_t kListed = 1000;
constexpr int64_t kFound = 50;

void print(Output& out, const std::string& text) { out.write(out.is_terminal() ? make_safe(text) : text); }

StoredConversation find(Store& store, int64_t id) {
  const auto row = store.conversation(id);
  if (!row)
    throw Error(ErrorKind::runtime,
                fmt::format("there is no conversation {}; 'bitnet-chat list' shows them", id));
  return *row;
}

std::string dump(const json& j) { return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string as_markdown(const StoredConversation& row, const std::vector<StoredMessage>& branch) {
  std::string s =
      fmt::format("# {}\n", row.title.empty() ? fmt::format("Conversation {}", row.id) : row.title);
  if (!row.system.empty()) s += fmt::format("\n## System\n\n{}\n", row.system);
  for (const StoredMessage& message : branch) {
    s += fmt::format("\n## {}\n\n{}\n", message.role == Role::user ? "User" : "Assistant", message.text);
    if (!message.finish.empty() && message.finish != "stop") s += fmt::format("\n*({})*\n", message.finish);
  }
  return s;
}

json as_openai(const StoredConversation& row, const std::vector<StoredMessage>& branch) {
  json messages = json::array();
  if (!row.system.empty()) messages.push_back({{"role", "system"}, {"content", row.system}});
  for (const StoredMessage& message : branch) {
    messages.push_back({{"role", name_of(message.role)}, {"content", message.text}});
  }
  return {{"messages", messages}};
}

json turn_object(Store& store, const StoredTurn& t) {
  json ids = json::array();
  json logprobs = json::array();
  for (const StoredToken& token : store.tokens(t.id)) {
    ids.push_back(token.id);
    logprobs.push_back(token.logprob);
  }
  return {{"seed", t.seed},
          {"sampler", json::parse(t.sampler, nullptr, false)},
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
          {"prefill_seconds", t.prefill_seconds},
          {"decode_seconds", t.decode_seconds},
          {"finish", t.finish},
          {"started", t.started},
          {"ids", ids},
          {"logprobs", logprobs}};
}

json as_json(Store& store, const StoredConversation& row, const std::vector<StoredMessage>& branch) {
  json messages = json::array();
  for (const StoredMessage& message : branch) {
    json object = {{"id", message.id},
                   {"role", name_of(message.role)},
                   {"text", message.text},
                   {"finish", message.finish},
                   {"created", message.created}};
    if (message.role == Role::assistant) {
      object["turns"] = json::array();
      for (const StoredTurn& turn : store.turns(message.id))
        object["turns"].push_back(turn_object(store, turn));
    }
    messages.push_back(object);
  }
  return {{"id", row.id},           {"title", row.title},     {"system", row.system},
          {"created", row.created}, {"updated", row.updated}, {"messages", messages}};
}

}  // namespace

std::string list_text(Store& store, int64_t current, bool archived) {
  std::string text;
  for (const StoredConversation& row : store.conversations(kListed, archived)) {
    text += fmt::format("{}{:>5}  {}  {:>4}  {}{}\n", row.id == current ? '*' : ' ', row.id,
                        local_time(row.updated), row.messages, row.archived ? "(archived) " : "", row.title);
  }
  return text;
}

std::string search_text(Store& store, std::string_view words) {
  std::string text;
  for (SearchHit& hit : store.search(words, kFound)) {
    std::replace(hit.snippet.begin(), hit.snippet.end(), '\n', ' ');
    text +=
        fmt::format("{:>6}  {}{}, message {}\n        {} {}\n", hit.conversation, hit.title,
                    hit.archived ? " (archived)" : "", hit.number, hit.from_user ? "›" : " ", hit.snippet);
  }
  return text;
}

void tool_list(Store& store, const Options& options, Output& out) {
  print(out, list_text(store, 0, options.all));
}
void tool_search(Store& store, const Options& options, Output& out) {
  const bool bold = out.is_terminal() && !options.no_color && std::getenv("NO_COLOR") == nullptr;
  std::string text;
  std::string part;
  const auto flush = [&] {
    text += out.is_terminal() ? make_safe(part) : part;
    part.clear();
  };
  for (const char c : search_text(store, options.words)) {
    if (c != kMarkOn && c != kMarkOff) {
      part += c;
      continue;
    }
    flush();
    text += c == kMarkOn ? (bold ? "\x1b[1m" : "[") : (bold ? "\x1b[22m" : "]");
  }
  flush();
  out.write(text);
}

void tool_show(Store& store, int64_t id, Output& out) {
  const StoredConversation row = find(store, id);
  std::string s = fmt::format("{} ({})\n", row.title, local_time(row.created));
  if (!row.system.empty()) s += fmt::format("[system] {}\n", row.system);
  const MessageTree tree(store.outline(id));
  for (const StoredMessage& message : store.branch(row.leaf)) {
    const MessageTree::Place place = tree.place(message.id);
    const std::string sibling =
        place.siblings > 1 ? fmt::format(" {}/{}", place.sibling, place.siblings) : std::string();
    s += fmt::format("\n[{}{}] {}\n", name_of(message.role), sibling, message.text);
    if (!message.finish.empty() && message.finish != "stop") s += fmt::format("[{}]\n", message.finish);
  }
  print(out, s);
}

void tool_export(Store& store, const Options& options, Output& out) {
  const StoredConversation row = find(store, *options.conversation);
  const std::vector<StoredMessage> branch = store.branch(row.leaf);
  const std::string text = options.format == "md"       ? as_markdown(row, branch)
                           : options.format == "openai" ? dump(as_openai(row, branch))
                                                        : dump(as_json(store, row, branch));
  if (options.out.empty()) {
    print(out, text);
  } else {
    write_file(options.out, text);
  }
}

void tool_delete(Store& store, int64_t id, Output& out) {
  const StoredConversation row = find(store, id);
  store.remove_conversation(id);
  print(out, fmt::format("deleted conversation {}: {}\n", id, row.title));
}

}  // namespace bitnet
