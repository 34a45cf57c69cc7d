#include "spans.h"

#include <md4c.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "app/text/markdown_lines.h"
#include "app/text/text_safe.h"
#include "stand_ins.h"

namespace bitnet {
namespace {

constexpr unsigned kDialect = MD_FLAG_PERMISSIVEURLAUTOLINKS | MD_FLAG_PERMISSIVEWWWAUTOLINKS |
                              MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_NOHTML |
                              MD_FLAG_NOINDENTEDCODEBLOCKS;

std::string utf8_of(uint32_t c) {
  std::string out;
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (c >> 18));
    out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
  return out;
}

// Returns the character of "&amp;" and of the few other entities that models write, as safe text. Other
// entities stay as they are written.
std::string entity_text(std::string_view entity) {
  struct Named {
    std::string_view name;
    const char* text;
  };
  static constexpr Named kNamed[] = {
      {"&amp;", "&"},       {"&lt;", "<"},        {"&gt;", ">"},       {"&quot;", "\""},  {"&apos;", "'"},
      {"&nbsp;", "\u00a0"}, {"&copy;", "\u00a9"}, {"&reg;", "\u00ae"}, {"&hellip;", "…"}, {"&mdash;", "—"},
      {"&ndash;", "–"},     {"&times;", "×"},     {"&deg;", "°"},      {"&rarr;", "→"},   {"&larr;", "←"},
      {"&le;", "≤"},        {"&ge;", "≥"},        {"&ne;", "≠"}};
  for (const Named& named : kNamed) {
    if (named.name == entity) return named.text;
  }
  if (!entity.starts_with("&#")) return std::string(entity);
  const bool hex = entity.size() > 3 && (entity[2] == 'x' || entity[2] == 'X');
  uint32_t c = 0;
  const char* begin = entity.data() + (hex ? 3 : 2);
  const auto [end, problem] = std::from_chars(begin, entity.data() + entity.size(), c, hex ? 16 : 10);
  const bool valid =
      problem == std::errc() && *end == ';' && c >= 0x20 && c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
  return valid ? make_safe(utf8_of(c)) : std::string(entity);
}

std::string attribute_text(const MD_ATTRIBUTE& attribute) {
  std::string out;
  if (attribute.text == nullptr) return out;
  for (size_t i = 0; attribute.substr_offsets[i] < attribute.size; ++i) {
    const std::string_view part(attribute.text + attribute.substr_offsets[i],
                                attribute.substr_offsets[i + 1] - attribute.substr_offsets[i]);
    out += attribute.substr_types[i] == MD_TEXT_ENTITY ? entity_text(part) : without_escapes(part);
  }
  return out;
}

// Gathers what md4c calls into lines and cells.
class Gatherer {
 public:
  Gatherer(std::string_view text, Face face, StyledBlock& out) : text_(text), base_(face), out_(out) {}

  void parse() {
    MD_PARSER parser = {};
    parser.flags = kDialect;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<Gatherer*>(self)->enter_block(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE, void*, void*) { return 0; };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<Gatherer*>(self)->enter_span(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<Gatherer*>(self)->leave_span(type, detail);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return static_cast<Gatherer*>(self)->text(type, {text, size});
    };
    md_parse(text_.data(), static_cast<MD_SIZE>(text_.size()), &parser, this);
  }

 private:
  int enter_block(MD_BLOCKTYPE type, void* detail) {
    switch (type) {
      case MD_BLOCK_H: {
        const unsigned level = static_cast<MD_BLOCK_H_DETAIL*>(detail)->level;
        base_ = {Tone::heading, level <= 2, level >= 4, level == 1, false};
        new_line();
        break;
      }
      case MD_BLOCK_P:
      case MD_BLOCK_LI:
      case MD_BLOCK_CODE:
        new_line();
        break;
      case MD_BLOCK_TR:
        out_.table.emplace_back();
        break;
      case MD_BLOCK_TH:
      case MD_BLOCK_TD: {
        out_.table.back().emplace_back();
        if (out_.table.size() > 1) break;
        const MD_ALIGN align = static_cast<MD_BLOCK_TD_DETAIL*>(detail)->align;
        out_.align.push_back(align == MD_ALIGN_RIGHT    ? Align::right
                             : align == MD_ALIGN_CENTER ? Align::center
                                                        : Align::left);
        break;
      }
      default:
        break;
    }
    return 0;
  }

  int enter_span(MD_SPANTYPE type, void*) {
    if (type == MD_SPAN_A || type == MD_SPAN_IMG) link_text_.emplace_back();
    if (type == MD_SPAN_IMG) put("[", face());
    depth_[type] += 1;
    return 0;
  }

  int leave_span(MD_SPANTYPE type, void* detail) {
    depth_[type] -= 1;
    if (type == MD_SPAN_IMG) put("]", face());
    if (type != MD_SPAN_A && type != MD_SPAN_IMG) return 0;
    const auto* link = static_cast<MD_SPAN_A_DETAIL*>(detail);
    const auto* image = static_cast<MD_SPAN_IMG_DETAIL*>(detail);
    const std::string target = attribute_text(type == MD_SPAN_A ? link->href : image->src);
    std::string title = attribute_text(type == MD_SPAN_A ? link->title : image->title);
    std::replace(title.begin(), title.end(), '\n', ' ');
    const std::string shown = std::move(link_text_.back());
    link_text_.pop_back();
    const bool says_it = shown == target || "http://" + shown == target || "https://" + shown == target ||
                         "mailto:" + shown == target;
    std::string more = target.empty() || says_it ? "" : target;
    if (!title.empty()) more += (more.empty() ? "\"" : " \"") + title + "\"";
    if (!more.empty()) put(" (" + more + ")", {Tone::quiet});
    return 0;
  }

  int text(MD_TEXTTYPE type, std::string_view text) {
    if (text.data() >= text_.data() && text.data() <= text_.data() + text_.size()) {
      source_ = static_cast<size_t>(text.data() - text_.data());
    }
    switch (type) {
      case MD_TEXT_BR:
      case MD_TEXT_SOFTBR:
        if (out_.table.empty()) {
          new_line();
        } else {
          put(" ", face());
        }
        break;
      case MD_TEXT_NULLCHAR:
        put("\ufffd", face());
        break;
      case MD_TEXT_ENTITY:
        put(entity_text(text), face());
        break;
      default: {
        std::string flat = without_stand_ins(text);
        std::replace(flat.begin(), flat.end(), '\n', ' ');
        put(flat, face());
      }
    }
    return 0;
  }

  Face face() const {
    Face face = base_;
    if (depth_[MD_SPAN_CODE] > 0) face.tone = Tone::code;
    face.bold = face.bold || depth_[MD_SPAN_STRONG] > 0;
    face.italic = (face.italic || depth_[MD_SPAN_EM] > 0) && depth_[MD_SPAN_CODE] == 0;
    face.strike = depth_[MD_SPAN_DEL] > 0;
    if (depth_[MD_SPAN_A] > 0 || depth_[MD_SPAN_IMG] > 0) {
      face.underline = true;
      if (face.tone == Tone::text) face.tone = Tone::link;
    }
    return face;
  }

  void new_line() { out_.lines.emplace_back(); }

  void put(std::string_view text, Face face) {
    if (text.empty()) return;
    for (std::string& link : link_text_) link += text;
    if (out_.table.empty() && out_.lines.empty()) new_line();
    StyledLine& line = out_.table.empty()          ? out_.lines.back()
                       : out_.table.back().empty() ? out_.table.back().emplace_back()
                                                   : out_.table.back().back();
    line.push_back({std::string(text), face, source_});
  }

  std::string_view text_;
  Face base_;
  StyledBlock& out_;
  std::vector<std::string> link_text_;
  int depth_[MD_SPAN_U + 1] = {};
  size_t source_ = 0;
};

bool needs_parser(std::string_view text) {
  if (text.find_first_of("*_`~[]&\\|#<") != std::string_view::npos) return true;
  return text.find("://") != std::string_view::npos || text.find("www.") != std::string_view::npos ||
         text.find("\n=") != std::string_view::npos;
}

StyledBlock plain_lines(std::string_view text, Face face) {
  StyledBlock out;
  size_t at = 0;
  while (at <= text.size()) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const size_t from = std::min(line.find_first_not_of(' '), line.size());
    const size_t to = line.find_last_not_of(" \t") + 1;
    out.lines.emplace_back();
    if (from < to) out.lines.back().push_back({std::string(line.substr(from, to - from)), face, at + from});
    at = end + 1;
  }
  return out;
}

// Returns how many cells a row has. Bars in code count too.
size_t count_cells(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  line = line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
  size_t bars = 0;
  size_t last = 0;
  for (size_t at = 0; (at = line.find_first_of("|\\", at)) != std::string_view::npos;) {
    if (line[at] == '|') {
      ++bars;
      last = at;
    }
    at += line[at] == '|' ? 1 : 2;
  }
  const bool opened = line.starts_with('|');
  const bool closed = bars > 0 && last + 1 == line.size();
  return bars + 1 - std::min<size_t>((opened ? 1 : 0) + (closed ? 1 : 0), bars);
}

constexpr size_t kMostCells = 4 * kLongestStyledLine;  // of a table to which columns are added

// md4c drops the cells behind the last column of a table's second line. Where a row has more than its
// `columns`, adds columns to that line. Returns false if the table would have too many cells.
bool add_columns(std::string& table, size_t columns) {
  size_t widest = 0;
  size_t rows = 0;
  for (size_t at = 0; at < table.size(); ++rows) {
    const size_t end = std::min(table.find('\n', at), table.size());
    widest = std::max(widest, count_cells(std::string_view(table).substr(at, end - at)));
    at = end + 1;
  }
  if (widest <= columns) return true;
  if (rows * widest > kMostCells) return false;
  const size_t second = table.find('\n') + 1;
  const size_t last = table.find_last_not_of(" \t\n", std::min(table.find('\n', second), table.size()));
  std::string more;
  for (size_t i = columns; i < widest; ++i) more += table[last] == '|' ? "---|" : "|---";
  table.insert(last + 1, more);
  return true;
}

// md4c takes a cell of a table's second line for one only from three characters on, where GitHub is content
// with a single dash. Adds dashes to shorter ones.
void widen_short_cells(std::string& table) {
  constexpr std::string_view kBlank = " \t";
  const size_t begin = table.find('\n') + 1;
  const std::string line = table.substr(begin, table.find('\n', begin) - begin);
  if (begin == 0 || line.find('|') == std::string::npos) return;
  std::string wider;
  for (size_t at = 0, end = 0; at <= line.size(); at = end + 1) {
    end = std::min(line.find('|', at), line.size());
    std::string cell = line.substr(at, end - at);
    const size_t first = cell.find_first_not_of(kBlank);
    if (first != std::string::npos) {
      const size_t length = cell.find_last_not_of(kBlank) + 1 - first;
      const size_t dash = first + (cell[first] == ':' ? 1 : 0);
      const size_t behind = std::min(cell.find_first_not_of('-', dash), cell.size());
      const size_t colon = behind < cell.size() && cell[behind] == ':' ? 1 : 0;
      if (behind == dash || behind + colon != first + length) return;  // it is no such line
      if (length < 3) cell.insert(dash, 3 - length, '-');
    }
    wider += cell;
    if (end < line.size()) wider += '|';
  }
  table.replace(begin, line.size(), wider);
}

// Takes out columns at the right that no row needs, down to `least` of them.
void drop_empty_columns(StyledBlock& block, size_t least) {
  size_t needed = least;
  for (const auto& row : block.table) {
    for (size_t c = row.size(); c > needed; --c) {
      if (!row[c - 1].empty()) needed = c;
    }
  }
  for (auto& row : block.table) row.resize(std::min(row.size(), needed));
  block.align.resize(std::min(block.align.size(), needed));
}

bool in_a_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}

bool is_emphasis(char c) { return c == '*' || c == '_' || c == '~' || c == '`'; }

// The emphasis, code and strikethrough that is open at a place in a text.
class OpenMarks {
 public:
  bool in_code() const { return !open_.empty() && open_.back().mark == '`'; }

  // Takes the run of equal marks from `begin` to `end` in `text`.
  void take(std::string_view text, size_t begin, size_t end) {
    const char mark = text[begin];
    if (in_code()) {
      if (mark == '`' && end - begin == open_.back().length) open_.pop_back();
    } else if (mark == '`') {
      if (end < text.size()) open_.push_back({mark, end - begin});
    } else {
      take_emphasis(text, begin, end);
    }
  }

  std::string closers() const {
    std::string out;
    for (auto mark = open_.rbegin(); mark != open_.rend(); ++mark) out.append(mark->length, mark->mark);
    return out;
  }

 private:
  struct Open {
    char mark;
    size_t length;
  };

  void take_emphasis(std::string_view text, size_t begin, size_t end) {
    const char mark = text[begin];
    const bool space_before = begin == 0 || std::isspace(static_cast<unsigned char>(text[begin - 1]));
    const bool space_after = end >= text.size() || std::isspace(static_cast<unsigned char>(text[end]));
    const bool word_before = begin > 0 && in_a_word(text[begin - 1]);
    if (mark == '_' && word_before && end < text.size() && in_a_word(text[end])) return;  // a_name
    size_t left = end - begin;
    while (left > 0 && !space_before && !open_.empty() && open_.back().mark == mark) {
      const size_t closed = std::min(left, open_.back().length);
      left -= closed;
      open_.back().length -= closed;
      if (open_.back().length == 0) open_.pop_back();
    }
    const bool too_short = mark == '~' && left < 2;
    if (left == 0 || too_short || space_after || (mark == '_' && word_before)) return;
    open_.push_back({mark, std::min<size_t>(left, 3)});
  }

  std::vector<Open> open_;
};

// Parses a block. Where its second line was edited, the block had `size` bytes before, and the places that
// are told are those in it.
StyledBlock parsed(std::string_view text, size_t size, Face face) {
  StyledBlock out;
  Gatherer(text, face, out).parse();
  const size_t added = text.size() - size;
  if (added == 0) return out;
  const size_t rows = text.find('\n', text.find('\n') + 1);  // behind the second line
  for (auto& row : out.table) {
    for (StyledLine& cell : row) {
      for (StyledText& part : cell) part.source -= part.source > rows ? added : 0;
    }
  }
  return out;
}

}  // namespace

std::string with_marks_closed(std::string_view text) {
  while (!text.empty() && is_emphasis(text.back()) && !text.substr(0, text.size() - 1).ends_with('\\')) {
    text.remove_suffix(1);  // it says nothing yet, or it is what we would add
  }
  OpenMarks open;
  for (size_t at = 0; at < text.size();) {
    if (!is_emphasis(text[at])) {
      at += text[at] == '\\' ? 2 : 1;
      continue;
    }
    const size_t end = std::min(text.find_first_not_of(text[at], at), text.size());
    open.take(text, at, end);
    at = end;
  }
  const std::string closers = open.closers();
  if (closers.empty() || open.in_code()) return std::string(text) + closers;
  const size_t end = text.find_last_not_of(" \t\n") + 1;  // after a space they would close nothing
  return std::string(text.substr(0, end)) + closers + std::string(text.substr(end));
}

StyledBlock styled_block(std::string_view text, Face face, bool growing) {
  if (!needs_parser(text)) return plain_lines(text, face);
  std::string closed = with_text_kept(text, growing);
  if (growing) closed = with_marks_closed(closed);
  std::string table = closed;
  widen_short_cells(table);
  StyledBlock out = parsed(table, closed.size(), face);
  if (out.table.empty()) {
    if (table.size() != closed.size()) out = parsed(closed, closed.size(), face);
    const bool silent =
        std::all_of(out.lines.begin(), out.lines.end(), [](const StyledLine& line) { return line.empty(); });
    return silent ? plain_lines(without_stand_ins(closed), face) : out;
  }
  const size_t columns = out.align.size();
  const size_t before = table.size();
  if (!add_columns(table, columns)) return plain_lines(text, face);
  if (table.size() == before) return out;
  out = parsed(table, closed.size(), face);
  if (out.table.empty()) return plain_lines(text, face);
  drop_empty_columns(out, columns);
  return out;
}

}  // namespace bitnet
