#include "readline_units.h"

#include <cstdio>
#include <string_view>

// readline's headers need FILE to be declared.
#include <readline/history.h>
#include <readline/readline.h>

#include "app/text/text_units.h"

namespace bitnet {
namespace {

constexpr int kDeepest = 8;  // most keys of a sequence

std::string_view line() { return {rl_line_buffer, static_cast<size_t>(rl_end)}; }
int end_of_unit(int at) { return static_cast<int>(unit_end(line(), static_cast<size_t>(at))); }
int begin_of_unit(int at) { return static_cast<int>(unit_begin(line(), static_cast<size_t>(at))); }

bool in_vi_commands() { return rl_editing_mode == 0 && rl_get_keymap() == vi_movement_keymap; }

int move_right(int count, int key);

int move_left(int count, int key) {
  if (count < 0) return move_right(-count, key);
  for (; count > 0; --count) {
    if (rl_point == 0) return rl_ding();
    rl_point = begin_of_unit(rl_point - 1);
  }
  return 0;
}

int move_right(int count, int key) {
  if (count < 0) return move_left(-count, key);
  for (; count > 0; --count) {
    if (rl_point >= rl_end) return rl_ding();
    const int next = end_of_unit(rl_point);
    if (in_vi_commands() && next >= rl_end) return rl_ding();
    rl_point = next;
  }
  return 0;
}

// As in readline, several units deleted at once can be yanked back, a single one cannot.
void take_out(int from, int to, bool several) {
  if (several) {
    rl_kill_text(from, to);
  } else {
    rl_delete_text(from, to);
  }
  rl_point = from;
}

int delete_back(int count, int key);

int delete_here(int count, int key) {
  if (count < 0) return delete_back(-count, key);
  if (rl_point >= rl_end) return rl_ding();
  int end = rl_point;
  for (int n = 0; n < count && end < rl_end; ++n) end = end_of_unit(end);
  take_out(rl_point, end, count > 1 || rl_explicit_arg != 0);
  return 0;
}

int delete_back(int count, int key) {
  if (count < 0) return delete_here(-count, key);
  if (rl_insert_mode == 0) return rl_rubout(count, key);  // overwrite mode puts a space there
  if (rl_point == 0) return rl_ding();
  int begin = rl_point;
  for (int n = 0; n < count && begin > 0; ++n) begin = begin_of_unit(begin - 1);
  take_out(begin, rl_point, count > 1 || rl_explicit_arg != 0);
  return 0;
}

int delete_here_or_back(int count, int key) {
  return rl_point != 0 && rl_point == rl_end ? delete_back(count, key) : delete_here(count, key);
}

int vi_delete_back(int count, int) {
  if (rl_point == 0) return rl_ding();
  int begin = rl_point;
  for (int n = 0; n < count && begin > 0; ++n) begin = begin_of_unit(begin - 1);
  take_out(begin, rl_point, true);
  return 0;
}

int vi_delete_here(int count, int key) {
  if (count < 0) return vi_delete_back(-count, key);
  if (rl_end == 0) return rl_ding();
  int end = rl_point;
  for (int n = 0; n < count && end < rl_end; ++n) end = end_of_unit(end);
  take_out(rl_point, end, true);
  if (rl_point > 0 && rl_point == rl_end) rl_point = begin_of_unit(rl_point - 1);
  return 0;
}

int word_back(int count, int key);

int word_forward(int count, int key) {
  if (count < 0) return word_back(-count, key);
  for (; count > 0 && rl_point < rl_end; --count) {
    const auto from = static_cast<size_t>(rl_point);
    rl_forward_word(1, key);
    rl_point = static_cast<int>(word_step_forward(line(), from, static_cast<size_t>(rl_point)));
  }
  return 0;
}

int word_back(int count, int key) {
  if (count < 0) return word_forward(-count, key);
  for (; count > 0 && rl_point > 0; --count) {
    const auto from = static_cast<size_t>(rl_point);
    rl_backward_word(1, key);
    rl_point = static_cast<int>(word_step_back(line(), from, static_cast<size_t>(rl_point)));
  }
  return 0;
}

// rl_kill_text adds the word to what was killed just before, at the end that the order of its arguments says.
int kill_word(int count, int key) {
  const int from = rl_point;
  word_forward(count, key);
  if (rl_point != from) rl_kill_text(from, rl_point);
  rl_point = from < rl_end ? from : rl_end;
  return 0;
}

int kill_word_back(int count, int key) {
  const int from = rl_point;
  word_back(count, key);
  if (rl_point != from) rl_kill_text(from, rl_point);
  return 0;
}

struct Replacement {
  rl_command_func_t* theirs;
  rl_command_func_t* ours;
};
constexpr Replacement kReplacements[] = {
    {rl_forward_char, move_right},
    {rl_forward, move_right},
    {rl_backward_char, move_left},
    {rl_backward, move_left},
    {rl_delete, delete_here},
    {rl_rubout, delete_back},
    {rl_rubout_or_delete, delete_here_or_back},
    {rl_vi_delete, vi_delete_here},
    {rl_vi_rubout, vi_delete_back},
    {rl_forward_word, word_forward},
    {rl_backward_word, word_back},
    {rl_kill_word, kill_word},
    {rl_backward_kill_word, kill_word_back},
};

void replace_in(Keymap map, int depth) {
  if (depth > kDeepest) return;
  for (int key = 0; key < KEYMAP_SIZE; ++key) {
    KEYMAP_ENTRY& entry = map[key];
    if (entry.type == ISKMAP && entry.function != nullptr) {
      replace_in(reinterpret_cast<Keymap>(entry.function), depth + 1);
    } else if (entry.type == ISFUNC) {
      for (const Replacement& r : kReplacements) {
        if (entry.function == r.theirs) entry.function = r.ours;
      }
    }
  }
}

}  // namespace

void use_unit_commands() {
  for (Keymap map : {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap}) replace_in(map, 0);
}

void keep_cursor_on_unit() {
  if (in_vi_commands() && rl_point < rl_end) rl_point = begin_of_unit(rl_point);
}

}  // namespace bitnet
