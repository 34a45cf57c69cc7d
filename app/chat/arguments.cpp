#include "arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "refuse.h"

namespace bitnet {
namespace {

std::string_view without_space(std::string_view s) {
  const size_t begin = s.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return {};
  return s.substr(begin, s.find_last_not_of(" \t\n") - begin + 1);
}

int64_t whole_number(std::string_view text, const char* wanted) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    refuse(fmt::format("wanted {}, found '{}'", wanted, printable(text, 40)));
  return number;
}

}  // namespace

std::pair<std::string_view, std::string_view> split(std::string_view line) {
  const size_t end = line.find_first_of(" \t\n");
  if (end == std::string_view::npos) return {line, {}};
  return {line.substr(0, end), without_space(line.substr(end))};
}

int64_t conversation_number(std::string_view text) {
  return whole_number(text, "a conversation's number as /list shows it");
}

std::optional<int64_t> optional_conversation(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return conversation_number(text);
}

int64_t message_number(std::string_view text) {
  return whole_number(text, "a message's number as /goto and /branches show it");
}

size_t token_number(std::string_view text) {
  const int64_t number = whole_number(text, "a number as /tokens or /alt show it");
  return static_cast<size_t>(std::max<int64_t>(number, 0));
}

double replay_speed(std::string_view text) {
  if (text.empty()) return 1;
  if (text == "instant") return 0;
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  if (error != std::errc() || end != text.data() + text.size() || !(speed >= 0.01 && speed <= 1000))
    refuse(fmt::format("wanted a speed of 0.01 to 1000, or instant, found '{}'", printable(text, 40)));
  return speed;
}

NamedFile file_to_write(std::string_view text) {
  const bool forced = text.ends_with('!');
  if (forced) text = without_space(text.substr(0, text.size() - 1));
  if (forced && text.empty()) refuse("wanted the name of a file in front of the !, found none");
  return {unquoted(text), forced};
}

std::string unquoted(std::string_view name) {
  const char quote = name.empty() ? '\0' : name.front();
  if (quote != '"' && quote != '\'') return std::string(name);
  if (name.size() == 1 || name.back() != quote)
    refuse(fmt::format("wanted a file's name with {0} around it, found {1}", quote, printable(name, 40)));
  if (name.size() == 2) refuse(fmt::format("wanted the name of a file, found {}", name));
  return std::string(name.substr(1, name.size() - 2));
}

}  // namespace bitnet
