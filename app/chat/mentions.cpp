#include "mentions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <span>
#include <system_error>

#include "app/base/places.h"

namespace bitnet {
namespace {

constexpr size_t kLongestPath = 4096;  // PATH_MAX
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kBeforeAWord = " \t\r\n([{";
constexpr std::string_view kBehindAWord = ",.;:!?)]}\"'";

bool is_file(const std::string& path) {
  std::error_code error;  // what cannot be looked at is no file of theirs
  return std::filesystem::is_regular_file(expand_home(path), error);
}

bool is_quote(char c) { return c == '"' || c == '\''; }

// A word with an @ in front, as it stands in the text.
struct Word {
  size_t begin;
  size_t end;
  char quote = '\0';
  bool closed = true;     // false: the closing quote is missing
  std::string_view path;  // without quotes
};

// Where the next of some characters is, for places that come one behind the other.
class Next {
 public:
  Next(std::string_view text, std::string_view characters) : text_(text), characters_(characters) {}
  size_t from(size_t at) {
    if (!known_ || found_ < at) found_ = std::min(text_.find_first_of(characters_, at), text_.size());
    known_ = true;
    return found_;
  }

 private:
  std::string_view text_, characters_;
  size_t found_ = 0;
  bool known_ = false;
};

// Each byte of the text is looked at a few times, however many words it has.
std::vector<Word> words_in(std::string_view text) {
  Next space(text, kSpace), double_quote(text, "\""), single_quote(text, "'");
  std::vector<Word> words;
  for (size_t at = 0; (at = text.find('@', at)) != std::string_view::npos;) {
    const size_t begin = at++;
    if (begin > 0 && kBeforeAWord.find(text[begin - 1]) == std::string_view::npos) continue;
    Word word{begin, space.from(at), '\0', true, {}};
    if (at < text.size() && is_quote(text[at])) {
      word.quote = text[at++];
      const size_t close = (word.quote == '"' ? double_quote : single_quote).from(at);
      word.closed = close < text.size();
      word.end = close + (word.closed ? 1 : 0);
      word.path = text.substr(at, close - at);
      if (word.closed) at = word.end;
    } else {
      word.path = text.substr(at, word.end - at);
    }
    if (word.path.size() <= kLongestPath) words.push_back(word);
  }
  return words;
}

// The last so many, since for each of them the disk is asked: what a person types themselves stands behind
// what was pasted.
std::span<const Word> last_of(const std::vector<Word>& words) {
  constexpr size_t kMostWords = 200;
  return std::span(words).last(std::min(words.size(), kMostWords));
}

// What it names, without what stands behind it in a sentence.
Mention mention_by(const Word& word) {
  Mention mention{word.begin, word.end, std::string(word.path)};
  if (word.quote == '\0' && !is_file(mention.path)) {
    mention.path.erase(mention.path.find_last_not_of(kBehindAWord) + 1);
    mention.end = word.begin + 1 + mention.path.size();
  }
  return mention;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// A path with a folder, or a name with an ending of up to five letters and digits.
bool looks_like_a_file(std::string_view path) {
  constexpr std::string_view kOfCode = "()[]{}<>\"'`,;:=|*@";
  constexpr size_t kLongestEnding = 5;
  if (path.find_first_of(kOfCode) != path.npos || std::none_of(path.begin(), path.end(), is_letter))
    return false;
  if (path.find('/') != path.npos) return true;
  const size_t dot = path.rfind('.');
  if (dot == path.npos || dot == 0) return false;
  const std::string_view ending = path.substr(dot + 1);
  const auto is_plain = [](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !ending.empty() && ending.size() <= kLongestEnding && is_letter(ending[0]) &&
         std::all_of(ending.begin(), ending.end(), is_plain);
}

// Why there is no file at `path`, which is none.
WithoutFile::Why why_no_file(const std::string& path) {
  std::error_code error;  // what cannot be looked at is not there for them
  const auto found = std::filesystem::status(expand_home(path), error).type();
  if (found == std::filesystem::file_type::directory) return WithoutFile::Why::folder;
  const bool is_there = std::filesystem::exists(std::filesystem::file_status(found));
  return error || !is_there ? WithoutFile::Why::missing : WithoutFile::Why::no_regular_file;
}

}  // namespace

std::vector<Mention> mentions_in(std::string_view text) {
  std::vector<Mention> mentions;
  const std::vector<Word> all = words_in(text);
  for (const Word& word : last_of(all)) {
    Mention mention = mention_by(word);
    if (word.closed && !mention.path.empty() && is_file(mention.path)) mentions.push_back(std::move(mention));
  }
  return mentions;
}

std::vector<WithoutFile> without_file(std::string_view text, bool any) {
  std::vector<WithoutFile> words;
  const std::vector<Word> all = words_in(text);
  for (const Word& word : last_of(all)) {
    const Mention mention = mention_by(word);
    if (!word.closed || mention.path.empty() || mention.path.find('\n') != std::string::npos) continue;
    if (is_file(mention.path)) continue;
    const WithoutFile::Why why = why_no_file(mention.path);
    const bool is_there = why != WithoutFile::Why::missing;
    if (!any && !is_there && word.quote == '\0' && !looks_like_a_file(mention.path)) continue;
    words.push_back({std::string(text.substr(mention.begin, mention.end - mention.begin)), why});
  }
  return words;
}

BegunMention begun_mention(std::string_view text) {
  const std::vector<Word> words = words_in(text);
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (word->end == text.size() && (word->quote == '\0' || !word->closed))
      return {word->begin, word->quote, word->path};
  }
  return {text.size(), '\0', {}};
}

std::string mention_of(std::string_view path, char quote, bool open) {
  const bool is_word = path.find_first_of(" \"'") == std::string_view::npos;
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (std::any_of(path.begin(), path.end(), is_control)) return {};
  if (quote == '\0' && is_word) return fmt::format("@{}", path);
  if (quote == '\0') quote = path.find('"') == std::string_view::npos ? '"' : '\'';
  if (path.find(quote) != std::string_view::npos) return {};
  return fmt::format("@{}{}{}", quote, path, open ? "" : std::string(1, quote));
}

}  // namespace bitnet
