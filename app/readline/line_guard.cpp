#include "line_guard.h"

#include <algorithm>
#include <cstdio>

// readline's headers need FILE to be declared.
#include <readline/history.h>
#include <readline/readline.h>

namespace bitnet {
namespace {

constexpr int kSomeKey = 1;
constexpr int kMostTimes = 10'000;  // that a command is done for a count

// Keys that do nothing.
Keymap keys_without_effect() {
  static const Keymap keys = [] {
    const Keymap map = rl_make_bare_keymap();
    rl_bind_key_in_map(
        kSomeKey, [](int, int) { return 0; }, map);
    return map;
  }();
  return keys;
}

}  // namespace

void LineGuard::read_key(int first) {
  // A search deals with Esc itself.
  const bool begins_sequence =
      first >= 0 && first < KEYMAP_SIZE && first != ESC && rl_get_keymap()[first].type == ISKMAP;
  if (begins_sequence && RL_ISSTATE(RL_STATE_ISEARCH)) rl_callback_sigcleanup();
  if (RL_ISSTATE(RL_STATE_NUMERICARG)) rl_numeric_arg = std::min(rl_numeric_arg, kMostTimes);
  taken_ = false;
  rl_callback_read_char();
  take_line_that_has_ended();
  mend_after_command();
}

// Behind a count readline has seen that the line ends, and goes on with it when it gets another key.
void LineGuard::take_line_that_has_ended() {
  if (rl_done == 0 || taken_) return;
  const Keymap keys = rl_get_keymap();
  rl_set_keymap(keys_without_effect());
  rl_execute_next(kSomeKey);
  rl_callback_read_char();
  if (rl_get_keymap() == keys_without_effect()) rl_set_keymap(keys);
}

void LineGuard::mend_after_command() {
  HIST_ENTRY** const entries = history_list();
  for (int i = 0; entries != nullptr && entries[i] != nullptr; ++i) entries[i]->data = nullptr;
  if (const HIST_ENTRY* here = current_history(); here != nullptr)
    entries_.try_emplace(where_history(), here->line);
  rl_point = std::clamp(rl_point, 0, rl_end);
  rl_mark = std::clamp(rl_mark, 0, rl_end);
}

void LineGuard::end_line() {
  taken_ = true;
  for (const auto& [place, line] : entries_) {
    HIST_ENTRY* const changed = replace_history_entry(place, line.c_str(), nullptr);
    if (changed != nullptr) free_history_entry(changed);
  }
  entries_.clear();
}

}  // namespace bitnet
