#include "text_wrap.h"

#include <algorithm>

#include "text_width.h"

namespace bitnet {
namespace {

constexpr int kTabColumns = 4;
constexpr std::string_view kNeverFirst = "、。，．！？：；）」』】〉》〕ー,.!?:;)]}";

struct Unit {
  std::string_view text;
  Face face;
  size_t source;
  int columns;
  bool space;
};

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
      pending_break_ = true;  // spaces that do not fit hang over the edge, unseen
      return;
    }
    if (pending_break_) {
      break_row(units_.size());
    } else if (may_break_before(unit)) {
      break_at_ = units_.size();
    }
    while (columns_ + unit.columns > room() && !units_.empty()) {
      break_row(style_.words && break_at_ > 0 ? break_at_ : units_.size());
    }
    columns_ += unit.columns;
    units_.push_back(unit);
  }

  void finish(size_t source_end) {
    if (!units_.empty() || first_) put_row(units_.size(), source_end);
  }

 private:
  int room() const { return first_ ? first_room_ : rest_room_; }

  bool may_break_before(const Unit& unit) const {
    if (!style_.words || units_.empty() || unit.space) return false;
    const Unit& last = units_.back();
    if (last.space) return !only_spaces();
    if (last.columns < 2 && unit.columns < 2) return last.text == "-" && units_.size() > 1;
    return kNeverFirst.find(unit.text) == std::string_view::npos;
  }

  bool only_spaces() const {
    return std::all_of(units_.begin(), units_.end(), [](const Unit& u) { return u.space; });
  }

  // The units before `count` become a row; the others begin the next one.
  void break_row(size_t count) {
    size_t end = count;
    while (style_.words && end > 0 && units_[end - 1].space) --end;
    put_row(end, 0);
    units_.erase(units_.begin(), units_.begin() + static_cast<std::ptrdiff_t>(count));
    columns_ = 0;
    for (const Unit& unit : units_) columns_ += unit.columns;
    break_at_ = 0;
    pending_break_ = false;
    first_ = false;
  }

  void put_row(size_t end, size_t source_if_empty) {
    Row row;
    row.source = units_.empty() ? source_if_empty : units_.front().source;
    const Span& indent = first_ ? style_.first : style_.rest;
    row.add(indent.text, indent.face);
    for (size_t i = 0; i < end; ++i) row.add(units_[i].text, units_[i].face);
    out_.push_back(std::move(row));
  }

  const WrapStyle& style_;
  std::vector<Row>& out_;
  int first_room_ = 0;
  int rest_room_ = 0;
  std::vector<Unit> units_;
  int columns_ = 0;  // of units_
  size_t break_at_ = 0;  // in units_; 0 = nowhere
  bool pending_break_ = false;
  bool first_ = true;
};

}  // namespace

void wrap_line(const std::vector<Piece>& line, const WrapStyle& style, std::vector<Row>& out) {
  Wrapper wrapper(style, out);
  size_t end = line.empty() ? 0 : line.front().source;
  for (const Piece& piece : line) {
    std::string_view text = piece.text;
    size_t source = piece.source;
    while (!text.empty()) {
      const Cluster cluster = first_cluster(text);
      const std::string_view unit = text.substr(0, cluster.bytes);
      wrapper.add({unit, piece.face, source, cluster.columns, unit == " "});
      text.remove_prefix(cluster.bytes);
      source += cluster.bytes;
    }
    end = source;
  }
  wrapper.finish(end);
}

}  // namespace bitnet
