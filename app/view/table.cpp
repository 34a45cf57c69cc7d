#include "table.h"

#include <algorithm>
#include <numeric>

#include "app/text/text_width.h"
#include "rows.h"

namespace bitnet {
namespace {

constexpr int kLeastColumns = 4;  // least width of a column
constexpr int kBorder = 3;        // " │ " between two of them

std::vector<Piece> pieces_of(const StyledLine& line, bool bold, size_t source) {
  std::vector<Piece> pieces;
  for (const StyledText& part : line) {
    Face face = part.face;
    face.bold = face.bold || bold;
    pieces.push_back({part.text, face, source});
  }
  return pieces;
}

int columns_of_line(const StyledLine& line) {
  int columns = 0;
  for (const StyledText& part : line) columns += columns_of(part.text);
  return columns;
}

std::vector<Row> cell_rows(const StyledLine& cell, bool bold, int width, size_t source) {
  WrapStyle style;
  style.columns = width;
  std::vector<Row> rows;
  wrap_line(pieces_of(cell, bold, source), style, rows);
  return rows;
}

void put_record_line(const std::vector<Piece>& pieces, bool begins, const Span& lead, int columns,
                     size_t source, std::vector<Row>& out) {
  const size_t before = out.size();
  WrapStyle style;
  style.columns = columns;
  style.first = {lead.text + (begins ? "• " : "  "), kQuiet};
  style.rest = {lead.text + "    ", kQuiet};
  wrap_line(pieces, style, out);
  for (size_t i = before; i < out.size(); ++i) out[i].source = source;
}

void lay_out_records(const StyledBlock& table, size_t first, const Span& lead, int columns,
                     const std::vector<size_t>& sources, std::vector<Row>& out) {
  const auto& header = table.table.front();
  if (first == 0 && table.table.size() == 1) {  // the names are all that it says
    for (size_t c = 0; c < header.size(); ++c) {
      if (!header[c].empty())
        put_record_line(pieces_of(header[c], true, sources[0]), c == 0, lead, columns, sources[0], out);
    }
    return;
  }
  for (size_t r = std::max<size_t>(first, 1); r < table.table.size(); ++r) {
    for (size_t c = 0; c < table.table[r].size(); ++c) {
      std::vector<Piece> pieces;
      if (c < header.size() && !header[c].empty()) {
        pieces = pieces_of(header[c], true, sources[r]);
        pieces.push_back({": ", kQuiet, sources[r]});
      }
      const std::vector<Piece> cell = pieces_of(table.table[r][c], false, sources[r]);
      pieces.insert(pieces.end(), cell.begin(), cell.end());
      put_record_line(pieces, c == 0, lead, columns, sources[r], out);
    }
  }
}

}  // namespace

std::vector<int> table_columns(const StyledBlock& table, int columns) {
  std::vector<int> widths(table.align.size(), 1);
  for (const auto& row : table.table) {
    for (size_t c = 0; c < row.size() && c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], columns_of_line(row[c]));
    }
  }
  const int room = columns - kBorder * (static_cast<int>(widths.size()) - 1);
  const auto total = [&] { return std::accumulate(widths.begin(), widths.end(), 0); };
  if (total() <= room) return widths;
  // The widest columns become narrower first.
  const int share = room / std::max(static_cast<int>(widths.size()), 1);
  if (share < kLeastColumns) return {};
  int excess = total() - room;
  while (excess > 0) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    int second = 0;
    for (const int width : widths) {
      if (width < *widest) second = std::max(second, width);
    }
    const int step = std::clamp(*widest - std::max(second, kLeastColumns), 1, excess);
    *widest -= step;
    excess -= step;
  }
  return widths;
}

void lay_out_table(const StyledBlock& table, size_t first, const std::vector<int>& widths, const Span& lead,
                   int columns, const std::vector<size_t>& sources, std::vector<Row>& out) {
  if (table.table.empty()) return;
  if (widths.empty()) return lay_out_records(table, first, lead, columns, sources, out);
  const StyledLine nothing;
  for (size_t r = first; r < table.table.size(); ++r) {
    std::vector<std::vector<Row>> cells;
    size_t height = 1;
    for (size_t c = 0; c < widths.size(); ++c) {
      const StyledLine& cell = c < table.table[r].size() ? table.table[r][c] : nothing;
      cells.push_back(cell_rows(cell, r == 0, widths[c], sources[r]));
      height = std::max(height, cells.back().size());
    }
    for (size_t line = 0; line < height; ++line) {
      Row& row = out.emplace_back();
      row.source = sources[r];
      row.lead = lead.text.size();
      row.add(lead.text, lead.face);
      for (size_t c = 0; c < widths.size(); ++c) {
        if (c > 0) row.add(" │ ", kQuiet);
        const Row empty;
        const Row& part = line < cells[c].size() ? cells[c][line] : empty;
        const int space = std::max(widths[c] - columns_of(part.text()), 0);
        const Align align = c < table.align.size() ? table.align[c] : Align::left;
        const int before = align == Align::right ? space : align == Align::center ? space / 2 : 0;
        row.add(std::string(static_cast<size_t>(before), ' '), {});
        for (const Span& span : part.spans) row.add(span.text, span.face);
        const bool last = c + 1 == widths.size();
        if (!last) row.add(std::string(static_cast<size_t>(space - before), ' '), {});
      }
    }
    if (r > 0) continue;
    Row& rule = out.emplace_back();
    rule.source = sources[r];
    rule.add(lead.text, lead.face);
    std::string line;
    for (size_t c = 0; c < widths.size(); ++c) {
      if (c > 0) line += "─┼─";
      for (int i = 0; i < widths[c]; ++i) line += "─";
    }
    rule.lead = lead.text.size() + line.size();
    rule.add(line, kQuiet);
  }
}

}  // namespace bitnet
