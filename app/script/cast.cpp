#include "cast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>

#include "app/text/text_safe.h"
#include "app/text/text_width.h"

namespace bitnet {
namespace {

using json = nlohmann::ordered_json;

std::string line_of(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string sgr(const Theme& theme, Face face) {
  const Look& look = theme.of(face.tone);
  std::string out = "\x1b[0";
  if (look.bold || face.bold) out += ";1";
  if (look.dim) out += ";2";
  if (face.italic) out += ";3";
  if (look.underline || face.underline) out += ";4";
  if (look.reverse) out += ";7";
  if (face.strike) out += ";9";
  if (look.color >= 8) {
    out += fmt::format(";38;5;{}", look.color);
  } else if (look.color >= 0) {
    out += fmt::format(";{}", 30 + look.color);
  }
  return out + "m";
}

}  // namespace

CastRecorder::CastRecorder(const std::string& file, const WriteRules& rules, int columns, int rows,
                           bool with_input)
    : out_(std::make_unique<OutputFile>(file, rules)),
      with_input_(with_input),
      columns_(columns),
      rows_(rows) {
  json header = {{"version", 3},
                 {"term", {{"cols", columns}, {"rows", rows}}},
                 {"timestamp", static_cast<int64_t>(std::time(nullptr))},
                 {"command", "bitnet-chat"}};
  if (const char* term = std::getenv("TERM"); term != nullptr && *term != '\0') header["term"]["type"] = term;
  out_->write(line_of(header));
  if (!failed()) out_->take_name();  // what is recorded can be played after a crash
  if (!failed()) return;
  out_->discard();
  out_->finish();  // says why
}

void CastRecorder::event(const char* code, std::string_view data) {
  // It is rounded against the beginning, so that the roundings do not add up.
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_).count();
  const int64_t interval = now - milliseconds_;
  milliseconds_ = now;
  out_->write(line_of(json::array({static_cast<double>(interval) / 1000, code, data})));
}

void CastRecorder::output(std::string_view bytes) {
  if (!bytes.empty()) event("o", bytes);
}

void CastRecorder::lines(std::string_view text) {
  std::string bytes;
  for (const char c : make_safe(text)) {
    if (c == '\n') bytes += '\r';
    bytes += c;
  }
  output(bytes);
}

void CastRecorder::input(std::string_view bytes) {
  if (with_input_ && !bytes.empty()) event("i", bytes);
}

void CastRecorder::resize(int columns, int rows) {
  if (columns == columns_ && rows == rows_) return;
  columns_ = columns;
  rows_ = rows;
  event("r", fmt::format("{}x{}", columns, rows));
}

void CastRecorder::finish(int exit_code) { event("x", fmt::format("{}", exit_code)); }

std::string FrameWriter::bytes(const std::vector<Row>& rows, int columns, int screen_rows, int cursor_row,
                               int cursor_column) {
  std::string out;
  const auto height = static_cast<size_t>(screen_rows);
  if (columns != columns_ || screen_rows != screen_rows_) {
    columns_ = columns;
    screen_rows_ = screen_rows;
    shown_.assign(height, Row());
    out += "\x1b[0m\x1b[2J";
  }
  static const Row kEmpty;
  for (size_t y = 0; y < height; ++y) {
    const Row& row = y < rows.size() ? rows[y] : kEmpty;
    if (shown_[y].spans == row.spans) continue;
    shown_[y] = row;
    out += fmt::format("\x1b[{};1H\x1b[0m\x1b[2K", y + 1);
    int left = columns;
    for (const Span& span : row.spans) {
      const std::string_view text = prefix_of_columns(span.text, left);
      left -= columns_of(text);
      if (!text.empty()) out += sgr(theme_, span.face) + std::string(text);
      if (text.size() < span.text.size()) break;
    }
  }
  if (out.empty() && cursor_row < 0) return out;
  out += "\x1b[0m";
  out += cursor_row < 0 ? "\x1b[?25l"
                        : fmt::format("\x1b[{};{}H\x1b[?25h", std::min(cursor_row, screen_rows - 1) + 1,
                                      std::min(cursor_column, columns - 1) + 1);
  return out;
}

}  // namespace bitnet
