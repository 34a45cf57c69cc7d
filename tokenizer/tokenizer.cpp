#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "bpe.h"
#include "engine/error.h"
#include "spaced_bpe.h"
#include "special_tokens.h"
#include "spm.h"
#include "utf8.h"

namespace bitnet {
namespace {

// The values of tokenizer.ggml.token_type.
constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

// The longest tokens that are known are runs of some hundred spaces. A model may say one again and again.
constexpr size_t kLongestToken = 4096;

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorKind::model, message); }

std::vector<int32_t> sorted(std::vector<int32_t> ids) {
  std::ranges::sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool is_spm(const Vocabulary& v) { return v.model == "llama"; }
bool is_gemma4(const Vocabulary& v) {
  return v.model == "gemma4" || (v.model == "gpt2" && v.pre == "gemma4");
}
// Whether ▁ is a space, and bytes are tokens such as <0x0A>.
bool is_spaced(const Vocabulary& v) { return is_spm(v) || is_gemma4(v); }

// Returns the byte that a token of type 6, such as "<0x0A>", stands for.
std::optional<char> byte_of_name(std::string_view text) {
  unsigned value = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc{} || end != text.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

// If a file names no pre-tokenizer but its vocabulary is that of LLaMA-3, it means LLaMA-3's. We recognise it
// by the names of the special tokens and by the first ordinary tokens, which follow tiktoken's ranks: the 256
// bytes in the order of the alphabet, then the first merges. A vocabulary that was cut short may end among
// these merges.
bool is_llama3(const Vocabulary& v) {
  if (v.tokens.size() < 256 || v.tokens[0] != "!" || v.tokens[93] != "~" || v.tokens[255] != "\u0143")
    return false;
  constexpr std::string_view kFirstMerges[] = {"ĠĠ", "ĠĠĠĠ", "in", "Ġt"};
  for (size_t i = 0; i < std::size(kFirstMerges) && 256 + i < v.tokens.size(); ++i) {
    if (v.tokens[256 + i].starts_with("<|")) break;
    if (v.tokens[256 + i] != kFirstMerges[i]) return false;
  }
  constexpr std::string_view kSpecials[] = {"<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
                                            "<|end_header_id|>", "<|eot_id|>"};
  return std::ranges::all_of(
      kSpecials, [&](std::string_view s) { return std::ranges::find(v.tokens, s) != v.tokens.end(); });
}

std::string choose_pre(const Vocabulary& v) {
  if (PreTokenizer::knows(v.pre)) return v.pre;
  return is_llama3(v) ? "llama-bpe" : "default";
}

// Throws Error(model) for faults that need no table.
void check(const Vocabulary& v) {
  if (v.model != "gpt2" && v.model != "llama" && v.model != "gemma4") {
    bad(
        fmt::format("tokenizer.ggml.model: \"{}\" is not supported; wanted \"gpt2\" (byte-level BPE), "
                    "\"llama\" (SentencePiece) or \"gemma4\" (BPE of lines)",
                    printable(v.model)));
  }
  if (v.tokens.empty()) bad("tokenizer.ggml.tokens: the vocabulary is empty; wanted tokens");
  if (v.tokens.size() > INT32_MAX) bad("tokenizer.ggml.tokens: more tokens than 32-bit ids");
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.tokens[i].size() <= kLongestToken) continue;
    bad(fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" has {} bytes; wanted at most {}", i,
                    printable(v.tokens[i]), v.tokens[i].size(), kLongestToken));
  }
  if (!v.types.empty() && v.types.size() != v.tokens.size()) {
    bad(fmt::format("tokenizer.ggml.token_type: {} types for {} tokens; wanted one for each", v.types.size(),
                    v.tokens.size()));
  }
  for (size_t i = 0; i < v.types.size(); ++i) {
    if (v.types[i] < 0 || v.types[i] > kByte) {
      bad(fmt::format("tokenizer.ggml.token_type[{}]: wanted 0 to {}, got {}", i, kByte, v.types[i]));
    }
  }
  const auto check_id = [&](const char* name, int32_t id) {
    if (id < -1 || id >= static_cast<int64_t>(v.tokens.size())) {
      bad(fmt::format("tokenizer.ggml.{}_token_id: {} is not an id; wanted one of the {} tokens", name, id,
                      v.tokens.size()));
    }
  };
  check_id("bos", v.bos);
  check_id("eos", v.eos);
  check_id("eot", v.eot);
  check_id("unknown", v.unknown);
  for (const int32_t id : v.other_ends) check_id("eom or fim", id);
  for (const std::vector<int32_t>* ids : {&v.suppressed, &v.lstrip, &v.rstrip}) {
    for (const int32_t id : *ids) {
      if (id >= 0 && static_cast<size_t>(id) < v.tokens.size()) continue;
      bad(fmt::format("tokenizer.ggml.{}: {} is not an id; wanted ids of the {} tokens",
                      ids == &v.suppressed ? "suppress_tokens" : "token_attributes", id, v.tokens.size()));
    }
  }
  if (sorted(v.suppressed).size() == v.tokens.size())
    bad("tokenizer.ggml.suppress_tokens: it has every token; wanted some that the model may give");
  if (is_gemma4(v) && v.merges.empty())
    bad("tokenizer.ggml.merges: there are none; wanted those of a \"gemma4\" vocabulary");
  if (!is_spm(v)) return;
  if (v.scores.size() != v.tokens.size()) {
    bad(fmt::format("tokenizer.ggml.scores: {} scores for {} tokens; wanted one for each", v.scores.size(),
                    v.tokens.size()));
  }
  for (size_t i = 0; i < v.scores.size(); ++i) {
    if (!std::isfinite(v.scores[i]))
      bad(fmt::format("tokenizer.ggml.scores[{}]: wanted a finite number, got {}", i, v.scores[i]));
  }
}

// Some converters give the token that ends a turn the type of an ordinary one. If no merge makes it, no text
// becomes it, so it must be a control token. Gemma 4's </s> is HTML, though.
void mark_ends(const Vocabulary& v, std::vector<int32_t>& types) {
  std::vector<int32_t> candidates;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == kNormal && is_end_name(v.tokens[i])) candidates.push_back(static_cast<int32_t>(i));
  }
  if (is_gemma4(v)) std::erase_if(candidates, [&](int32_t id) { return v.tokens[id] == "</s>"; });
  if (candidates.empty()) return;
  std::unordered_set<std::string> made;
  for (std::string joined : v.merges) {
    if (const size_t space = joined.find(' ', 1); space != std::string::npos) joined.erase(space, 1);
    if (is_end_name(joined)) made.insert(std::move(joined));
  }
  for (const int32_t id : candidates) {
    if (!made.contains(v.tokens[id])) types[id] = kControl;
  }
}

// The type of each token; where the file does not say, we know at least what is not text. The marks around a
// model's thinking are text that it writes, whatever converters make of them.
std::vector<int32_t> find_types(const Vocabulary& v) {
  std::vector<int32_t> types = v.types;
  if (types.empty()) {
    types.resize(v.tokens.size(), kNormal);
    for (const int32_t id : {v.bos, v.eos, v.eot}) {
      if (id >= 0) types[id] = kControl;
    }
    if (v.unknown >= 0) types[v.unknown] = kUnknown;
    if (is_spm(v)) {
      constexpr std::string_view kFirst[] = {"<unk>", "<s>", "</s>"};
      for (size_t i = 0; i < std::min(std::size(kFirst), types.size()); ++i) {
        if (types[i] == kNormal && v.tokens[i] == kFirst[i]) types[i] = i == 0 ? kUnknown : kControl;
      }
    }
    for (size_t i = 0; is_spaced(v) && i < types.size(); ++i) {
      if (types[i] == kNormal && byte_of_name(v.tokens[i])) types[i] = kByte;
    }
  }
  mark_ends(v, types);
  constexpr std::string_view kThoughts[] = {"<think>", "</think>", "<|channel>", "<channel|>"};
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == kControl && std::ranges::find(kThoughts, v.tokens[i]) != std::end(kThoughts))
      types[i] = kUserDefined;
  }
  return types;
}

// Returns `id`; if there is none, what "llama" means then: `usual`, if it is of that type.
int32_t or_usual(const Vocabulary& v, const std::vector<int32_t>& types, int32_t id, int32_t usual,
                 int32_t type) {
  if (id >= 0 || !is_spm(v) || static_cast<size_t>(usual) >= types.size()) return id;
  return types[usual] == type ? usual : -1;
}

bool is_special(int32_t type) { return type == kControl || type == kUserDefined || type == kUnknown; }

// The tags that Gemma's vocabularies define as tokens; without <s> and </s>, which begin and end a text in
// other vocabularies.
bool is_html(std::string_view text) {
  constexpr std::string_view kNames[] = {
      "table", "caption", "thead", "tbody", "tfoot", "tr",  "th",         "td",     "h1", "h2", "h3",
      "h4",    "h5",      "h6",    "code",  "sub",   "sup", "blockquote", "strong", "em", "b",  "i",
      "u",     "p",       "br",    "hr",    "ul",    "ol",  "li",         "pre",    "a",  "img"};
  if (!text.starts_with('<') || !text.ends_with('>')) return false;
  text = text.substr(1, text.size() - 2);
  if (text.starts_with('/')) text.remove_prefix(1);
  return std::ranges::find(kNames, text) != std::end(kNames);
}

// Whether a user-defined token is a way to write text, which anybody may use.
bool is_text(std::string_view token) {
  return token.find_first_not_of(" \t\n\r") == std::string_view::npos || is_html(token);
}

// Unicode's White_Space, as UTF-8.
constexpr std::string_view kWhiteSpace[] = {
    " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085", "\u00a0", "\u1680",
    "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
    "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};

std::string_view without_space_before(std::string_view text) {
  const auto begins = [&](std::string_view space) { return text.starts_with(space); };
  for (const std::string_view* it; (it = std::ranges::find_if(kWhiteSpace, begins)) != std::end(kWhiteSpace);)
    text.remove_prefix(it->size());
  return text;
}

std::string_view without_space_after(std::string_view text) {
  const auto ends = [&](std::string_view space) { return text.ends_with(space); };
  for (const std::string_view* it; (it = std::ranges::find_if(kWhiteSpace, ends)) != std::end(kWhiteSpace);)
    text.remove_suffix(it->size());
  return text;
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(Vocabulary& v);

  void add_token(const std::string& text, int32_t id);
  void encode(std::string_view text, int32_t after, std::vector<int32_t>& ids) const;
  void check_id(int32_t id) const;
  bool is_control(int32_t id) const { return types[id] == kControl || types[id] == kUnknown; }
  void append(int32_t id, bool show_special, bool& starts, std::string& out) const;

  // Whether a token takes the white space on a side of it.
  static bool strips(const std::vector<int32_t>& sorted, int32_t id) {
    return std::ranges::binary_search(sorted, id);
  }
  // Where the text goes on that follows the token `id` from `at` on.
  size_t after_strip(std::string_view all, size_t at, int32_t id) const {
    return strips(rstrip, id) ? all.size() - without_space_before(all.substr(at)).size() : at;
  }

  std::vector<int32_t> types;      // [n_vocab]
  std::vector<std::string> bytes;  // [n_vocab], what each token stands for
  SpecialTokens special;           // by text
  std::unique_ptr<TextEncoder> text;
  std::vector<int32_t> ends, suppressed, lstrip, rstrip;  // sorted
  std::string pre, unknown_pre;
  int32_t bos, eos;
  bool add_bos;
  bool spaced;  // whether ▁ is a space, as SentencePiece has it
  bool space_prefix = false;
};

Tokenizer::Impl::Impl(Vocabulary& v)
    : types(find_types(v)),
      bytes(v.tokens.size()),
      suppressed(sorted(v.suppressed)),
      lstrip(sorted(v.lstrip)),
      rstrip(sorted(v.rstrip)),
      bos(or_usual(v, types, v.bos, 1, kControl)),
      eos(or_usual(v, types, v.eos, 2, kControl)),
      spaced(is_spaced(v)) {
  std::function<void(const std::string&, size_t)> add_merge = [](const std::string&, size_t) {};
  if (is_spm(v)) {
    space_prefix = v.add_space_prefix.value_or(true);
    text =
        std::make_unique<Spm>(std::move(v.scores), space_prefix, or_usual(v, types, v.unknown, 0, kUnknown));
    pre = "none (SentencePiece)";
    add_bos = v.add_bos.value_or(true);
  } else if (is_gemma4(v)) {
    auto made = std::make_unique<SpacedBpe>(v.tokens.size(), v.merges.size(), v.unknown);
    add_merge = [this, bpe = made.get()](const std::string& line, size_t index) {
      bpe->add_merge(line, index, special);
    };
    text = std::move(made);
    pre = "gemma4";
    add_bos = true;
  } else {
    auto made = std::make_unique<ByteBpe>(choose_pre(v), v.tokens.size(), v.merges.size());
    add_merge = [bpe = made.get()](const std::string& line, size_t index) { bpe->add_merge(line, index); };
    pre = made->pre().name();
    if (!v.pre.empty() && !PreTokenizer::knows(v.pre)) unknown_pre = v.pre;
    add_bos = v.add_bos.value_or(made->pre().add_bos());
    text = std::move(made);
  }
  for (size_t i = 0; i < v.tokens.size(); ++i) add_token(v.tokens[i], static_cast<int32_t>(i));
  for (size_t i = 0; i < v.merges.size(); ++i) add_merge(v.merges[i], i);

  std::vector<int32_t> named = v.other_ends;
  named.insert(named.end(), {eos, v.eot});
  // Where <s> is no control token, </s> is HTML too, as in Gemma's vocabularies.
  const int32_t s_tag = special.find("<s>");
  ends = find_ends(special, named, s_tag >= 0 && types[s_tag] == kUserDefined);
}

void Tokenizer::Impl::add_token(const std::string& token, int32_t id) {
  std::string& out = bytes[id];
  if (types[id] == kUnused) {  // its text means nothing
    out = token;
    return;
  }
  if (token.empty()) bad(fmt::format("tokenizer.ggml.tokens[{}]: the token is empty; wanted text", id));
  if (types[id] == kByte) {
    if (const auto byte = byte_of_name(token)) {
      out = *byte;
      text->add_byte(id, *byte);
      return;
    }
  }
  if (!is_special(types[id])) {
    text->add_token(id, token, out);
    return;
  }
  check_utf8(id, token);
  out = spaced ? with_spaces(token) : token;
  special.add(id, out, types[id] == kUserDefined && is_text(out));
}

// Appends the ids of text without special tokens that follows the token `after`.
void Tokenizer::Impl::encode(std::string_view piece, int32_t after, std::vector<int32_t>& ids) const {
  text->encode(piece, after < 0 || types[after] == kControl, ids);
}

// Appends what a token adds to a text; `starts` says whether a text begins with it, and then with the next.
void Tokenizer::Impl::append(int32_t id, bool show_special, bool& starts, std::string& out) const {
  if (is_control(id)) {
    if (show_special) out += bytes[id];
    starts = types[id] == kControl;
    return;
  }
  std::string_view added = bytes[id];
  // Encoding puts no space before a user-defined token, so all of it is what somebody wrote.
  if (space_prefix && starts && types[id] != kUserDefined && added.starts_with(' ')) added.remove_prefix(1);
  out += added;
  starts = false;
}

void Tokenizer::Impl::check_id(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= bytes.size()) {
    throw Error(ErrorKind::usage, fmt::format("token {} is not in the vocabulary, which has ids 0 to {}", id,
                                              bytes.size() - 1));
  }
}

Tokenizer::Tokenizer(Vocabulary vocabulary) {
  check(vocabulary);
  impl_ = std::make_unique<Impl>(vocabulary);
}
Tokenizer::~Tokenizer() = default;

std::vector<int32_t> Tokenizer::encode(std::string_view text, bool parse_special) const {
  const Segment segment{std::string(text), parse_special};
  return encode(std::span(&segment, 1));
}

std::vector<int32_t> Tokenizer::encode(std::span<const Segment> segments, int32_t after) const {
  if (after >= 0) impl_->check_id(after);
  struct Trusted {
    size_t begin, end;
  };
  std::string text;
  std::vector<Trusted> trusted;  // in order; neighbours are joined
  for (const Segment& s : segments) {
    const size_t begin = text.size();
    text += impl_->spaced ? with_spaces(s.text) : s.text;
    if (!s.parse_special || s.text.empty()) continue;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({begin, text.size()});
    }
  }

  const std::string_view all = text;
  std::vector<int32_t> ids;
  size_t done = impl_->after_strip(all, 0, after);  // everything before it is encoded
  auto range = trusted.begin();
  for (size_t at = done; at < all.size();) {
    while (range != trusted.end() && range->end <= at) ++range;
    const size_t trusted_end = range != trusted.end() && range->begin <= at ? range->end : at;
    const int32_t id = impl_->special.at(all, at, trusted_end);
    if (id < 0) {
      ++at;
      continue;
    }
    const std::string_view before = all.substr(done, at - done);
    impl_->encode(Impl::strips(impl_->lstrip, id) ? without_space_after(before) : before, after, ids);
    ids.push_back(id);
    after = id;
    at += impl_->bytes[id].size();
    at = done = impl_->after_strip(all, at, id);
  }
  impl_->encode(all.substr(done), after, ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool show_special) const {
  std::string text;
  bool starts = true;
  for (const int32_t id : ids) {
    impl_->check_id(id);
    impl_->append(id, show_special, starts, text);
  }
  return text;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  impl_->check_id(id);
  return impl_->bytes[id];
}

int32_t Tokenizer::n_vocab() const { return static_cast<int32_t>(impl_->bytes.size()); }
int32_t Tokenizer::bos() const { return impl_->bos; }
int32_t Tokenizer::eos() const { return impl_->eos; }
bool Tokenizer::add_bos() const { return impl_->add_bos; }
const std::string& Tokenizer::pre() const { return impl_->pre; }
const std::string& Tokenizer::unknown_pre() const { return impl_->unknown_pre; }
std::span<const int32_t> Tokenizer::end_of_turn() const { return impl_->ends; }
std::span<const int32_t> Tokenizer::suppressed() const { return impl_->suppressed; }
int32_t Tokenizer::find(std::string_view token_text) const { return impl_->special.find(token_text); }

bool Tokenizer::is_control(int32_t id) const {
  impl_->check_id(id);
  return impl_->is_control(id);
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, int32_t after) : tokenizer_(tokenizer) {
  if (after >= 0) tokenizer.impl_->check_id(after);
  starts_ = after < 0 || tokenizer.impl_->types[after] == kControl;
}

std::string StreamDecoder::push(int32_t id) {
  tokenizer_.impl_->check_id(id);
  tokenizer_.impl_->append(id, /*show_special=*/false, starts_, held_);
  std::string text;
  held_.erase(0, append_repaired(held_, text));
  return text;
}

std::string StreamDecoder::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  starts_ = true;
  return std::string(cut ? kReplacement : "");
}

}  // namespace bitnet
