// Finds words in everything that was said.
//
// FTS5 finds words and beginnings of words. In scripts without spaces, such as Chinese and Japanese, it takes
// a whole sentence for a word, and it does not see what stands inside a word. So if it finds nothing, every
// text is searched for the words as they stand.
#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "sqlite_db.h"
#include "store.h"

namespace bitnet {
namespace {

// These are more than a person looks for. Each word costs a scan of every text if the index finds nothing.
constexpr size_t kMostWords = 32;
constexpr size_t kMostBytes = 1000;
constexpr size_t kAround = 60;  // bytes of a snippet on each side of what was found

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    std::string word;
    for (const char c : text.substr(at, end - at)) {
      if (c != '\0') word += c;
    }
    if (!word.empty()) words.push_back(std::move(word));
    at = end + 1;
  }
  return words;
}

// Quotes every word as an FTS5 string, so that no character of it is an operator. The last one also matches
// as the beginning of a word.
std::string match_expression(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    out += out.empty() ? "\"" : " \"";
    for (const char c : word) out.append(c == '"' ? 2 : 1, c);
    out += '"';
  }
  return out + "*";
}

std::string like_pattern(const std::string& word) {
  std::string out = "%";
  for (const char c : word) {
    if (c == '%' || c == '_' || c == '\\') out += '\\';
    out += c;
  }
  return out + "%";
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

size_t find_ignoring_case(std::string_view text, std::string_view word) {
  const auto at = std::search(text.begin(), text.end(), word.begin(), word.end(),
                              [](char a, char b) { return lower(a) == lower(b); });
  return at == text.end() ? std::string_view::npos : static_cast<size_t>(at - text.begin());
}

bool inside_character(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80;
}

// The text around `word`, with the word marked.
std::string snippet_of(std::string_view text, const std::string& word) {
  const size_t at = find_ignoring_case(text, word);
  if (at == std::string_view::npos) return std::string(text.substr(0, kAround));
  size_t begin = at > kAround ? at - kAround : 0;
  size_t end = std::min(at + word.size() + kAround, text.size());
  while (inside_character(text, begin)) ++begin;
  while (inside_character(text, end)) ++end;
  const size_t after = at + word.size();
  return fmt::format("{}{}\x02{}\x03{}{}", begin > 0 ? "..." : "", text.substr(begin, at - begin),
                     text.substr(at, word.size()), text.substr(after, end - after),
                     end < text.size() ? "..." : "");
}

constexpr const char* kHitColumns =
    "m.conversation, m.id, (SELECT count(*) FROM message o WHERE o.conversation = m.conversation AND o.id <= "
    "m.id),"
    " c.title, c.archived, m.role";

SearchHit read_hit(const Statement& row, std::string snippet) {
  return {row.integer(0),      row.integer(1),        row.integer(2),    row.text(3),
          row.integer(4) != 0, row.text(5) == "user", std::move(snippet)};
}

}  // namespace

std::vector<SearchHit> Store::search(std::string_view text, int64_t at_most) {
  const std::vector<std::string> words = words_of(text);
  std::vector<SearchHit> hits;
  if (words.empty()) return hits;
  if (words.size() > kMostWords || text.size() > kMostBytes) {
    throw Error(ErrorKind::usage,
                fmt::format("search looks for up to {} words of {} bytes in all, found {} of {}", kMostWords,
                            kMostBytes, words.size(), text.size()));
  }
  Statement query(db(),
                  fmt::format("SELECT {}, snippet(message_fts, 0, char(2), char(3), '...', 16)"
                              " FROM message_fts JOIN message m ON m.id = message_fts.rowid"
                              " JOIN conversation c ON c.id = m.conversation"
                              " WHERE message_fts MATCH ? AND c.deleted IS NULL ORDER BY rank, m.id LIMIT ?",
                              kHitColumns));
  query << std::string_view(match_expression(words)) << at_most;
  while (query.step()) hits.push_back(read_hit(query, query.text(6)));
  if (!hits.empty()) return hits;

  std::string where;
  for (size_t i = 0; i < words.size(); ++i) where += " AND m.text LIKE ? ESCAPE '\\'";
  Statement scan(db(),
                 fmt::format("SELECT {}, m.text FROM message m JOIN conversation c ON c.id = m.conversation"
                             " WHERE m.finish IS NOT NULL AND c.deleted IS NULL{} ORDER BY m.id DESC LIMIT ?",
                             kHitColumns, where));
  std::vector<std::string> patterns;
  for (const std::string& word : words) patterns.push_back(like_pattern(word));
  for (const std::string& pattern : patterns) scan << std::string_view(pattern);
  scan << at_most;
  while (scan.step()) hits.push_back(read_hit(scan, snippet_of(scan.text(6), words.front())));
  return hits;
}

}  // namespace bitnet
