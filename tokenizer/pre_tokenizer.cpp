#include "pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>

#include "engine/error.h"
#include "utf8.h"

namespace bitnet {
namespace {

// The patterns say \p{White_Space} because PCRE2's \s also matches U+180E, which is not white space in
// today's Unicode nor in the tokenizers' own implementations.
#define SPACE "\\p{White_Space}"
#define NOT_SPACE "\\P{White_Space}"

constexpr const char* kGpt2 =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPACE "\\p{L}\\p{N}]+|" SPACE "+(?!" NOT_SPACE ")";

// The patterns of LLaMA-3, Qwen2 and Qwen3.5 differ only in what is a letter and in how many digits make a
// piece.
#define CL100K(LETTER, DIGITS)                                                                        \
  "'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\\r\\n\\p{L}\\p{N}]?[" LETTER "]+|" DIGITS \
  "| ?[^" SPACE LETTER "\\p{N}]+[\\r\\n]*|" SPACE "*[\\r\\n]+|" SPACE "+(?!" NOT_SPACE ")|" SPACE "+"

// That of o200k (GPT-4o) cuts before a capital letter that follows a small one, and keeps contractions with
// their word. Letters without case, and marks, are both. Mistral's Tekken knows no contractions.
#define CAPITAL "\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}"
#define SMALL "\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}"
#define CONTRACTION "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
#define O200K(ENDING, DIGITS)                                                                              \
  "[^\\r\\n\\p{L}\\p{N}]?[" CAPITAL "]*[" SMALL "]+" ENDING "|[^\\r\\n\\p{L}\\p{N}]?[" CAPITAL "]+[" SMALL \
  "]*" ENDING "|" DIGITS "| ?[^" SPACE "\\p{L}\\p{N}]+[\\r\\n/]*|" SPACE "*[\\r\\n]+|" SPACE               \
  "+(?!" NOT_SPACE ")|" SPACE "+"

struct Known {
  const char* name;
  std::vector<std::string_view> aliases;
  bool ignore_merges, add_bos;
  std::vector<const char*> patterns;
};

// Each row is a pre-tokenizer. README.md says how to add one. The aliases are the names that llama.cpp's
// converters write for vocabularies that are cut by the same patterns.
const std::vector<Known>& known() {
  static const std::vector<Known> table = {
      {"llama-bpe",
       {"llama3", "llama-v3", "falcon3", "falcon_e", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       true,
       true,
       {CL100K("\\p{L}", "\\p{N}{1,3}")}},
      {"dbrx", {"smaug-bpe", "chatglm-bpe", "glm4"}, false, false, {CL100K("\\p{L}", "\\p{N}{1,3}")}},
      {"qwen2",
       {"deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"},
       false,
       false,
       {CL100K("\\p{L}", "\\p{N}")}},
      {"qwen35", {}, false, false, {CL100K("\\p{L}\\p{M}", "\\p{N}")}},
      {"gpt-2",
       {"gpt2", "olmo", "mpt", "jais", "trillion", "phi-2", "gigachat", "mellum", "exaone4", "a.x-4.0",
        "granite-docling", "modern-bert", "roberta-bpe", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es",
        "jina-v2-de", "jina-v2-code"},
       false,
       false,
       {kGpt2}},
      {"smollm",
       {"starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
       false,
       false,
       {"\\p{N}", kGpt2}},
      {"gpt-4o", {"llama4", "kanana2", "talkie"}, false, false, {O200K(CONTRACTION, "\\p{N}{1,3}")}},
      {"tekken", {}, true, true, {O200K("", "\\p{N}")}},
      {"deepseek-coder",
       {},
       false,
       false,
       {"[\\r\\n]", SPACE "?\\p{L}+", SPACE "?\\p{P}+", "[\\x{800}-\\x{9fa5}\\x{ac00}-\\x{d7ff}]+",
        "\\p{N}"}},
      {"falcon", {}, false, false, {"[\\p{P}$+<=>^~|`]+", kGpt2, "[0-9][0-9][0-9]"}},
      {"default", {}, false, false, {"[\\p{P}$+<=>^~|]+", kGpt2, "\\p{N}+", "[0-9][0-9][0-9]"}},
  };
  return table;
}

// Null if no row has the name.
const Known* find_known(std::string_view name) {
  for (const Known& k : known()) {
    if (name == k.name || std::ranges::find(k.aliases, name) != k.aliases.end()) return &k;
  }
  return nullptr;
}

struct FreeMatch {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
using Match = std::unique_ptr<pcre2_match_data, FreeMatch>;

std::string pcre2_text(int code) {
  char buffer[256];
  if (pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(buffer), sizeof buffer) < 0)
    buffer[0] = '\0';
  return buffer;
}

}  // namespace

struct PreTokenizer::Pattern {
  explicit Pattern(const char* text) {
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                         &error, &at, nullptr);
    if (code == nullptr) {
      throw Error(ErrorKind::runtime,
                  fmt::format("PCRE2 {} cannot compile the pre-tokenizer pattern {} at {}: {}",
                              PCRE2_MAJOR * 100 + PCRE2_MINOR, text, at, pcre2_text(error)));
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // if this fails, pcre2_match interprets the pattern
    // A pasted file may be one piece of many megabytes. Every pattern is linear in it, so no limit is needed.
    context = pcre2_match_context_create(nullptr);
    pcre2_set_match_limit(context, UINT32_MAX);
    pcre2_set_heap_limit(context, UINT32_MAX);
  }
  ~Pattern() {
    pcre2_match_context_free(context);
    pcre2_code_free(code);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  // Cuts `piece`, which is UTF-8, into `out`.
  void cut(std::string_view piece, pcre2_match_data* match, std::vector<std::string_view>& out) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(piece.data());
    size_t at = 0;
    while (at < piece.size()) {
      const int found = pcre2_match(code, subject, piece.size(), at, PCRE2_NO_UTF_CHECK, match, context);
      if (found == PCRE2_ERROR_NOMATCH) break;
      if (found < 0) {
        throw Error(ErrorKind::runtime, fmt::format("cutting {} bytes of text into words failed: {}",
                                                    piece.size(), pcre2_text(found)));
      }
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(match);
      if (span[0] > at) out.push_back(piece.substr(at, span[0] - at));
      out.push_back(piece.substr(
          span[0], span[1] - span[0]));  // not empty, because no pattern matches the empty string
      at = span[1];
    }
    if (at < piece.size()) out.push_back(piece.substr(at));
  }

  pcre2_code* code = nullptr;
  pcre2_match_context* context = nullptr;
};

bool PreTokenizer::knows(std::string_view name) { return find_known(name) != nullptr; }

PreTokenizer::PreTokenizer(std::string_view name) {
  const Known& row = *find_known(name);
  name_ = row.name;
  ignore_merges_ = row.ignore_merges;
  add_bos_ = row.add_bos;
  for (const char* text : row.patterns) patterns_.push_back(std::make_unique<Pattern>(text));
}

PreTokenizer::~PreTokenizer() = default;

std::vector<std::string_view> PreTokenizer::split(std::string_view text) const {
  const Match match(pcre2_match_data_create(1, nullptr));
  std::vector<std::string_view> pieces;
  std::vector<std::string_view> cut;
  std::vector<std::string_view> next;

  size_t at = 0;
  while (at < text.size()) {
    size_t end = at;
    bool valid = true;  // whether all of the run from `at` to `end` is UTF-8; otherwise none of it is
    while (end < text.size()) {
      const Utf8Step step = utf8_step(text.substr(end));
      if (end == at) valid = step.kind == Utf8::valid;
      if (valid != (step.kind == Utf8::valid)) break;
      end += step.length;
    }
    const std::string_view run = text.substr(at, end - at);
    at = end;
    if (!valid) {
      for (size_t i = 0; i < run.size(); ++i) pieces.push_back(run.substr(i, 1));
      continue;
    }
    cut.assign(1, run);
    for (const auto& pattern : patterns_) {
      next.clear();
      for (const std::string_view piece : cut) pattern->cut(piece, match.get(), next);
      cut.swap(next);
    }
    pieces.insert(pieces.end(), cut.begin(), cut.end());
  }
  return pieces;
}

}  // namespace bitnet
