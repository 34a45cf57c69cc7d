#include "keymap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "app/base/blank.h"
#include "engine/error.h"
#include "key_decoder.h"

namespace bitnet {
namespace {

constexpr Action kActions[] = {
    {Key::enter, "send", "Enter", "", "send"},
    {Key::newline, "newline", "M-Enter, C-j, S-Enter", "", "new line"},
    {Key::escape, "stop", "Esc", "", "take back what waits, or stop the answer"},
    {Key::interrupt, "interrupt", "C-c", "", "clear the input, or stop, or (twice) quit"},
    {Key::eof, "quit", "C-d", "", "quit, where the input is empty"},
    {Key::text, "history-search", "C-r", "\x12", "search earlier inputs"},
    {Key::text, "edit", "C-x C-e", "\x18\x05", "write the input in $VISUAL or $EDITOR"},
    {Key::text, "complete", "Tab", "\t", "complete a command or a file; in an empty line, the same as ^T"},
    {Key::text, "erase", "Backspace", "\x7f", "erase; at the start of the input, take the last file out"},
    {Key::thoughts, "thoughts", "C-t", "", "show or fold what the model thought"},
    {Key::up, "up", "Up", "", "what waits, or earlier inputs; lines of a longer input"},
    {Key::down, "down", "Down", "", "later inputs; lines of a longer input"},
    {Key::page_up, "page-up", "PgUp", "", "scroll the conversation up"},
    {Key::page_down, "page-down", "PgDn", "", "scroll it down"},
    {Key::line_up, "line-up", "C-Up", "", "scroll it by one line up"},
    {Key::line_down, "line-down", "C-Down", "", "scroll it by one line down"},
    {Key::to_start, "start", "C-Home", "", "go to its start"},
    {Key::to_end, "end", "C-End", "", "go to its end"},
    {Key::find, "find", "C-f", "", "find in the conversation"},
    {Key::copy, "copy", "F2", "", "pick a code block to copy or to write to a file"},
    {Key::open, "open", "C-o", "", "open another conversation"},
    {Key::redraw, "redraw", "C-l", "", "draw the screen again"},
    {Key::suspend, "suspend", "C-z", "", "suspend; fg comes back"},
    {Key::help, "help", "F1", "", "this help; any other key leaves it"},
};

// Turns "C-x C-e" into "^X ^E", as people write it.
std::string written(std::string_view keys) {
  std::string out;
  while (!keys.empty()) {
    std::string_view key = keys.substr(0, keys.find(' '));
    keys.remove_prefix(std::min(key.size() + 1, keys.size()));
    const char modifier = key.size() > 2 && key[1] == '-' ? key[0] : '\0';
    if (modifier != '\0') key.remove_prefix(2);
    if (!out.empty()) out += ' ';
    out += modifier == 'C' ? "^" : modifier == 'M' ? "Alt-" : modifier == 'S' ? "Shift-" : "";
    const auto first = static_cast<unsigned char>(key[0]);
    out += modifier == 'C' && key.size() == 1 ? static_cast<char>(std::toupper(first)) : key[0];
    out += key.substr(1);
  }
  return out;
}

}  // namespace

std::span<const Action> action_table() { return kActions; }

Keymap::Keymap() {
  for (const Action& action : kActions) {
    std::string_view keys = action.keys;
    while (!keys.empty()) {
      const size_t end = std::min(keys.find(", "), keys.size());
      const std::string key(keys.substr(0, end));
      // The line editor already knows the keys of its own actions.
      if (action.key == Key::text) {
        keys_.emplace_back(key, &action);
      } else {
        bind(key, {action.key, ""}, &action);
      }
      keys.remove_prefix(std::min(end + 2, keys.size()));
    }
  }
}

void Keymap::bind(const std::string& key, const Binding& binding, const Action* action) {
  const std::vector<std::string> sequences = sequences_of_key(key);
  std::erase_if(keys_, [&](const auto& entry) { return bytes_of_key(entry.first) == sequences.front(); });
  if (action != nullptr) keys_.emplace_back(key, action);
  for (const std::string& bytes : sequences) {
    if (binding.key == Key::text && binding.bytes.empty()) {
      bindings_.erase(bytes);
    } else {
      bindings_[bytes] = binding;
    }
  }
}

const Keymap::Binding* Keymap::find(std::string_view bytes) const {
  const auto found = bindings_.find(bytes);
  return found == bindings_.end() ? nullptr : &found->second;
}

void Keymap::read(std::string_view text, std::string_view file) {
  int number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    const auto fail = [&](const std::string& why) {
      throw Error(ErrorKind::usage, fmt::format("{}:{}: {}", printable(file), number, why));
    };
    if (const size_t comment = line.find(" #"); comment != std::string_view::npos)
      line = line.substr(0, comment);
    line = trim(line);
    if (line.empty() || line[0] == '#') continue;
    const size_t equals = line.find('=', 1);
    if (equals == std::string_view::npos) {
      fail(fmt::format("wanted 'key = action', found '{}'", printable(line, 40)));
    }
    const std::string key(trim(line.substr(0, equals)));
    const std::string name(trim(line.substr(equals + 1)));
    const std::vector<std::string> sequences = sequences_of_key(key);
    if (sequences.empty()) {
      fail(fmt::format("there is no key '{}'; keys are written C-x, M-x, F5, PgUp, Enter",
                       printable(key, 40)));
    }
    const auto first = static_cast<unsigned char>(sequences.front()[0]);
    if (first >= 0x20 && first != 0x7F) {
      fail(fmt::format("'{}' is needed to write; bind it with C- or M-", printable(key, 40)));
    }
    if (name == "none" || name == "editor") {
      bind(key, {name == "none" ? Key::none : Key::text, ""}, nullptr);
      continue;
    }
    const auto* action = std::find_if(std::begin(kActions), std::end(kActions),
                                      [&](const Action& a) { return name == a.name; });
    if (action == std::end(kActions)) {
      std::string names;
      for (const Action& a : kActions) names += fmt::format("{}, ", a.name);
      fail(fmt::format("there is no action '{}'; there are {}editor and none", printable(name, 40), names));
    }
    bind(key, {action->key, action->bytes}, action);
  }
}

std::string Keymap::keys_of(const Action& action) const {
  std::string out;
  int count = 0;
  for (const auto& [key, bound] : keys_) {
    if (bound != &action || ++count > 2) continue;
    if (!out.empty()) out += ", ";
    out += written(key);
  }
  return out;
}

}  // namespace bitnet
