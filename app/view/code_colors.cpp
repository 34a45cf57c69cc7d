#include "code_colors.h"

#include <t3highlight/highlight.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "app/base/places.h"
#include "engine/lower.h"

namespace bitnet {
namespace {

constexpr size_t kLongestLine = 512;        // longer ones are not coloured
constexpr size_t kMostBytes = 128 << 10;    // of a block
constexpr int kMostStates = 400;            // the library looks for each of them in a list
constexpr int64_t kMostTime = 100'000'000;  // nanoseconds for a block

struct Language {
  const char* names;  // between spaces
  const char* file;
  bool is_ours;  // in assets/languages
};
constexpr Language kLanguages[] = {
    {" c h ", "c.lang", false},
    {" c++ cpp cxx cc hpp hh cuda cu glsl hlsl arduino ", "cxx.lang", false},
    {" css scss less ", "css.lang", false},
    {" diff patch udiff ", "diff.lang", false},
    {" go golang ", "go.lang", true},
    {" html htm xhtml vue ", "html.lang", false},
    {" ini conf cfg toml properties dosini ", "conf.lang", false},
    {" java ", "java.lang", false},
    {" javascript js jsx mjs ts tsx typescript node ", "javascript.lang", false},
    {" json jsonc json5 jsonl ", "json.lang", true},
    {" make makefile mk ", "make.lang", false},
    {" markdown md ", "markdown.lang", false},
    {" perl pl ", "perl.lang", false},
    {" php ", "php.lang", false},
    {" python py python3 py3 ", "python3.lang", false},
    {" ruby rb ", "ruby.lang", false},
    {" rust rs ", "rust.lang", true},
    {" sh bash shell zsh ksh dash shell-script ", "sh.lang", false},
    {" sql sqlite sqlite3 mysql psql postgres postgresql plsql ", "sql.lang", true},
    {" xml svg xsd xsl plist ", "xml.lang", false},
    {" yaml yml ", "yaml.lang", true},
};

const Language* find_language(std::string_view name) {
  if (name.empty() || name.find(' ') != std::string_view::npos) return nullptr;
  const std::string wanted = " " + lower(name) + " ";
  const auto found =
      std::find_if(std::begin(kLanguages), std::end(kLanguages), [&](const Language& language) {
        return std::string_view(language.names).find(wanted) != std::string_view::npos;
      });
  return found == std::end(kLanguages) ? nullptr : found;
}

// What the definitions call a token. JavaScript's calls the words that ECMAScript 5 kept for later, such as
// "class", errors.
Tone tone_of_style(std::string_view style) {
  if (style == "keyword" || style == "error") return Tone::code_keyword;
  if (style == "string" || style == "string-escape" || style == "addition") return Tone::code_string;
  if (style == "number" || style == "variable") return Tone::code_number;
  if (style.starts_with("comment") || style == "deletion") return Tone::code_comment;
  if (style == "misc") return Tone::code_extra;
  return Tone::text;
}

struct FreeLanguage {
  void operator()(t3_highlight_t* language) const { t3_highlight_free(language); }
};
using LoadedLanguage = std::unique_ptr<t3_highlight_t, FreeLanguage>;

// nullptr where it cannot be read. Each file is tried once.
const t3_highlight_t* load(const Language& language) {
  static std::map<std::string_view, LoadedLanguage> loaded;
  const auto [place, is_new] = loaded.try_emplace(language.file);
  if (is_new) {
    const std::string file =
        language.is_ours ? (shared_folder() / "languages" / language.file).string() : language.file;
    t3_highlight_error_t error{};
    place->second.reset(t3_highlight_load(
        file.c_str(), [](void*, const char* style) { return static_cast<int>(tone_of_style(style)); },
        nullptr, T3_HIGHLIGHT_UTF8 | (language.is_ours ? 0 : T3_HIGHLIGHT_USE_PATH), &error));
  }
  return place->second.get();
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the word begins that `line` ends in, which more letters may make another one.
size_t last_word(std::string_view line) {
  size_t begin = line.size();
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  return begin;
}

}  // namespace

struct CodeColors::Match {
  explicit Match(const t3_highlight_t* language) : of(t3_highlight_new_match(language)) {}
  ~Match() { t3_highlight_free_match(of); }
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;
  t3_highlight_match_t* of;
};

CodeColors::CodeColors(std::unique_ptr<Match> match) : match_(std::move(match)) {}
CodeColors::~CodeColors() = default;

std::unique_ptr<CodeColors> CodeColors::of(std::string_view name) {
  const Language* language = find_language(name);
  const t3_highlight_t* definition = language == nullptr ? nullptr : load(*language);
  if (definition == nullptr) return nullptr;
  auto match = std::make_unique<Match>(definition);
  if (match->of == nullptr) return nullptr;
  return std::unique_ptr<CodeColors>(new CodeColors(std::move(match)));
}

bool CodeColors::goes_on(size_t bytes) {
  if (bytes_ + bytes > kMostBytes || nanoseconds_ > kMostTime || state_ > kMostStates) over_ = true;
  return !over_;
}

// The tokens of a line that begins in state_. The library leaves out what cannot be; then the rest is plain.
std::vector<Piece> CodeColors::tokens(std::string_view line, size_t source) {
  std::vector<Piece> pieces;
  size_t done = 0;
  const auto put = [&](size_t end, int tone) {
    if (end <= done || end > line.size()) return;
    const Face face{static_cast<Tone>(tone)};
    if (!pieces.empty() && pieces.back().face == face) {
      Piece& last = pieces.back();
      last.text = line.substr(last.source - source, end - (last.source - source));
    } else {
      pieces.push_back({line.substr(done, end - done), face, source + done});
    }
    done = end;
  };
  t3_highlight_reset(match_->of, state_);
  for (size_t left = 2 * line.size() + 16; left > 0; --left) {
    const bool more = t3_highlight_match(match_->of, line.data(), line.size()) != 0;
    put(t3_highlight_get_match_start(match_->of), t3_highlight_get_begin_attr(match_->of));
    put(t3_highlight_get_end(match_->of), t3_highlight_get_match_attr(match_->of));
    if (!more) break;
    if (left == 1) over_ = true;
  }
  put(line.size(), static_cast<int>(Tone::text));
  return pieces;
}

std::vector<Piece> CodeColors::line(std::string_view line, size_t source, bool growing) {
  const auto begin = std::chrono::steady_clock::now();
  if (line.size() > kLongestLine || !goes_on(line.size())) return {{line, {Tone::code}, source}};
  std::vector<Piece> pieces;
  const size_t word = growing ? last_word(line) : line.size();
  if (word == line.size() || std::isdigit(static_cast<unsigned char>(line[word])) != 0) {
    pieces = tokens(line, source);
  } else {
    // A word that is nobody's keyword in its place tells whether it stands in a string or a comment.
    const std::string probe = std::string(line.substr(0, word)) + "zqx";
    const std::vector<Piece> with_probe = tokens(probe, source);
    for (const Piece& piece : with_probe) {
      const size_t at = piece.source - source;
      const size_t end = std::min(at + piece.text.size(), word);
      if (at < end) pieces.push_back({line.substr(at, end - at), piece.face, piece.source});
    }
    const Face face = with_probe.back().face;
    pieces.push_back({line.substr(word), face, source + word});
  }
  if (!growing) {
    state_ = t3_highlight_next_line(match_->of);
    bytes_ += line.size();
  }
  nanoseconds_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  if (pieces.empty()) pieces.push_back({line, {}, source});
  return pieces;
}

}  // namespace bitnet
