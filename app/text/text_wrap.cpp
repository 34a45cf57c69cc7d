#include "text_wrap.h"

#include <algorithm>
#include <cctype>

#include "text_width.h"

namespace bitnet {
namespace {

constexpr int kTabColumns = 4;
constexpr std::string_view kNeverFirst = "、。，．！？：；）」』】〉》〕ー,.!?:;)]}";

// A cluster or an ASCII word, which is cut if it does not fit.
struct Unit {
  std::string_view text;
  Face face;
  size_t source;
  int columns;
  bool space;
  bool wide;
};

bool is_word_byte(char c) { return c > 0x20 && c < 0x7F; }

// Returns the length of the ASCII word at the front. It ends after a hyphen between parts of a word, where a
// break is allowed (not in "--private"), and before a character that a following mark may still join.
size_t word_length(std::string_view text) {
  size_t end = 0;
  while (end < text.size() && is_word_byte(text[end])) {
    ++end;
    if (end > 1 && text[end - 1] == '-' && std::isalnum(static_cast<unsigned char>(text[end - 2]))) break;
  }
  return end > 0 && end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80 ? end - 1 : end;
}

// The row being filled, and the last place in it where it may be broken.
class Wrapper {
 public:
  Wrapper(const WrapStyle& style, std::vector<Row>& out) : style_(style), out_(out) {
    const int first = columns_of(style.first.text);
    const int rest = columns_of(style.rest.text);
    const int limit = std::max(style.columns, std::max(first, rest) + 2);
    first_room_ = limit - first;
    rest_room_ = limit - rest;
  }

  void add(Unit unit) {
    if (unit.text == "\t") {
      unit.columns = kTabColumns - columns_ % kTabColumns;
      unit.text = std::string_view("    ").substr(0, static_cast<size_t>(unit.columns));
      unit.space = true;
    }
    if (style_.words && unit.space && columns_ + unit.columns > room()) {
      pending_break_ = true;  // spaces that do not fit are not shown
      return;
    }
    if (pending_break_) {
      break_row(units_.size(), Join::at_space);
    } else if (may_break_before(unit)) {
      break_at_ = units_.size();
    }
    while (columns_ + unit.columns > room()) {
      if (style_.words && break_at_ > 0) {
        const bool space = units_[break_at_ - 1].space;
        break_row(break_at_, space ? Join::at_space : Join::cut);
      } else if (const int fitting = room() - columns_; !unit.wide && unit.text.size() > 1 &&
                                                        unit.columns == static_cast<int>(unit.text.size()) &&
                                                        fitting > 0 && !unit.space) {
        push(part(unit, 0, static_cast<size_t>(fitting)));
        unit = part(unit, static_cast<size_t>(fitting), unit.text.size());
        break_row(units_.size(), Join::cut);
      } else if (!units_.empty()) {
        break_row(units_.size(), Join::cut);
      } else {
        break;
      }
    }
    push(unit);
  }

  void finish(size_t source_end) {
    if (!units_.empty() || first_) put_row(units_.size(), source_end);
  }

 private:
  int room() const { return first_ ? first_room_ : rest_room_; }

  static Unit part(Unit unit, size_t begin, size_t end) {
    unit.text = unit.text.substr(begin, end - begin);
    unit.source += begin;
    unit.columns = static_cast<int>(unit.text.size());
    return unit;
  }

  void push(const Unit& unit) {
    columns_ += unit.columns;
    units_.push_back(unit);
  }

  bool may_break_before(const Unit& unit) const {
    if (!style_.words || units_.empty() || unit.space) return false;
    const Unit& last = units_.back();
    if (last.space) return !only_spaces();
    if (!last.wide && !unit.wide) {
      return last.text.back() == '-' && (units_.size() > 1 || last.text.size() > 1);
    }
    const std::string_view begin = unit.wide ? unit.text : unit.text.substr(0, 1);
    return kNeverFirst.find(begin) == std::string_view::npos;
  }

  bool only_spaces() const {
    return std::all_of(units_.begin(), units_.end(), [](const Unit& u) { return u.space; });
  }

  // Makes a row of the first `count` units; the others begin the next row.
  void break_row(size_t count, Join join) {
    size_t end = count;
    while (style_.words && end > 0 && units_[end - 1].space) --end;
    put_row(end, 0);
    join_ = join;
    units_.erase(units_.begin(), units_.begin() + static_cast<std::ptrdiff_t>(count));
    columns_ = 0;
    for (const Unit& unit : units_) columns_ += unit.columns;
    break_at_ = 0;
    pending_break_ = false;
    first_ = false;
  }

  void put_row(size_t end, size_t source_if_empty) {
    Row& row = out_.emplace_back();
    row.source = units_.empty() ? source_if_empty : units_.front().source;
    row.join = join_;
    const Span& indent = first_ ? style_.first : style_.rest;
    row.lead = indent.text.size();
    row.add(indent.text, indent.face);
    for (size_t i = 0; i < end; ++i) row.add(units_[i].text, units_[i].face);
  }

  const WrapStyle& style_;
  std::vector<Row>& out_;
  int first_room_ = 0;
  int rest_room_ = 0;
  std::vector<Unit> units_;
  int columns_ = 0;      // of units_
  size_t break_at_ = 0;  // index in units_ where the row may be broken; 0: nowhere
  bool pending_break_ = false;
  bool first_ = true;
  Join join_ = Join::none;  // of the row being filled
};

}  // namespace

void wrap_line(const std::vector<Piece>& line, const WrapStyle& style, std::vector<Row>& out) {
  Wrapper wrapper(style, out);
  size_t end = line.empty() ? 0 : line.front().source;
  for (const Piece& piece : line) {
    std::string_view text = piece.text;
    size_t source = piece.source;
    while (!text.empty()) {
      Unit unit{text, piece.face, source, 0, false, false};
      size_t bytes = word_length(text);
      if (bytes > 0) {
        unit.columns = static_cast<int>(bytes);
      } else {
        const Cluster cluster = first_cluster(text);
        bytes = cluster.bytes;
        unit.columns = cluster.columns;
        unit.wide = cluster.columns >= 2;
      }
      unit.text =
          unit.columns == static_cast<int>(bytes) ? text.substr(0, bytes) : shown_part(text.substr(0, bytes));
      unit.space = unit.text == " ";
      wrapper.add(unit);
      text.remove_prefix(bytes);
      source += bytes;
    }
    end = source;
  }
  wrapper.finish(end);
}

}  // namespace bitnet
