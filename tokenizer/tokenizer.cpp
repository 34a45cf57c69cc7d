#include "tokenizer/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "bpe.h"
#include "byte_alphabet.h"
#include "engine/error.h"
#include "pre_tokenizer.h"
#include "utf8.h"

namespace bitnet {
namespace {

// The values of tokenizer.ggml.token_type that matter here.
constexpr int32_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

// The names that vocabularies use for a token that ends a turn.
constexpr std::string_view kEndOfTurn[] = {"<|eot_id|>",
                                           "<|eom_id|>",
                                           "<|end_of_text|>",
                                           "<|endoftext|>",
                                           "<|im_end|>",
                                           "<|end|>",
                                           "<|eot|>",
                                           "<|return|>",
                                           "<|end_of_turn|>",
                                           "<end_of_turn>",
                                           "<|eos|>",
                                           "<eos>",
                                           "<EOT>",
                                           "<|END_OF_TURN_TOKEN|>",
                                           "</s>",
                                           "<|end_of_sentence|>",
                                           "<｜end▁of▁sentence｜>"};

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorKind::model, message); }

// Returns the byte that a token of type 6, such as "<0x0A>", stands for.
std::optional<char> byte_of_name(std::string_view text) {
  unsigned value = 0;
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc{} || end != text.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    if (step.kind != Utf8::valid) return false;
    at += step.length;
  }
  return true;
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
  if (!v.pre.empty()) return v.pre;
  return is_llama3(v) ? "llama-bpe" : "default";
}

// Throws Error(model) for faults that need no table.
void check(const Vocabulary& v) {
  if (v.model != "gpt2") {
    bad(fmt::format("tokenizer.ggml.model: \"{}\" is not supported; wanted \"gpt2\" (byte-level BPE)",
                    printable(v.model)));
  }
  if (v.tokens.empty()) bad("tokenizer.ggml.tokens: the vocabulary is empty; wanted tokens");
  if (v.tokens.size() > INT32_MAX) bad("tokenizer.ggml.tokens: more tokens than 32-bit ids");
  if (!v.types.empty() && v.types.size() != v.tokens.size()) {
    bad(fmt::format("tokenizer.ggml.token_type: {} types for {} tokens; wanted one for each", v.types.size(),
                    v.tokens.size()));
  }
  for (size_t i = 0; i < v.types.size(); ++i) {
    if (v.types[i] < 0 || v.types[i] > kByte) {
      bad(fmt::format("tokenizer.ggml.token_type[{}]: wanted 0 to {}, got {}", i, kByte, v.types[i]));
    }
  }
  const std::pair<const char*, int32_t> ids[] = {{"bos", v.bos}, {"eos", v.eos}, {"eot", v.eot}};
  for (const auto& [name, id] : ids) {
    if (id < -1 || id >= static_cast<int64_t>(v.tokens.size())) {
      bad(fmt::format("tokenizer.ggml.{}_token_id: {} is not an id; wanted one of the {} tokens", name, id,
                      v.tokens.size()));
    }
  }
}

size_t count_special(const Vocabulary& v) {
  return 3 + std::ranges::count_if(v.types, [](int32_t t) { return t == kControl || t == kUserDefined; });
}

}  // namespace

struct Tokenizer::Impl {
  explicit Impl(const Vocabulary& v);

  void add_token(const Vocabulary& v, int32_t id);
  void add_merge(std::string_view line, size_t index, std::string& scratch);
  int32_t special_at(std::string_view text, size_t at, size_t trusted_end) const;
  void encode_text(std::string_view text, std::vector<int32_t>& out) const;
  void check_id(int32_t id) const;
  bool is_special(int32_t id) const { return types[id] == kControl || types[id] == kUserDefined; }

  PreTokenizer pre;
  Bpe bpe;
  std::vector<std::string> bytes;  // [n_vocab], what each token stands for
  std::vector<int32_t> types;      // [n_vocab]
  TokenTable ordinary;             // by bytes; holds what merges may make
  TokenTable special;              // by text; holds control and user defined tokens
  std::array<int32_t, 256> byte_token;
  std::array<std::vector<size_t>, 256> special_lengths;  // by first byte; the longest first
  std::vector<int32_t> end_of_turn;
  int32_t bos, eos, eot;
  bool add_bos;
};

Tokenizer::Impl::Impl(const Vocabulary& v)
    : pre(choose_pre(v)),
      bpe(v.merges.size()),
      types(v.types),
      ordinary(v.tokens.size()),
      special(count_special(v)),
      bos(v.bos),
      eos(v.eos),
      eot(v.eot),
      add_bos(v.add_bos) {
  const bool typed = !types.empty();
  types.resize(v.tokens.size(), kNormal);
  bytes.resize(v.tokens.size());
  if (!typed) {  // at least these are not text
    for (const int32_t id : {bos, eos, eot}) {
      if (id >= 0) types[id] = kControl;
    }
  }

  byte_token.fill(-1);
  for (size_t i = 0; i < v.tokens.size(); ++i) add_token(v, static_cast<int32_t>(i));
  for (auto& lengths : special_lengths) {
    std::ranges::sort(lengths, std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  }
  std::string scratch;
  for (size_t i = 0; i < v.merges.size(); ++i) add_merge(v.merges[i], i, scratch);

  for (const int32_t id : {eos, eot}) {
    if (id >= 0) end_of_turn.push_back(id);
  }
  for (const std::string_view name : kEndOfTurn) {
    if (const int32_t id = special.find(name); id >= 0) end_of_turn.push_back(id);
  }
  std::ranges::sort(end_of_turn);
  end_of_turn.erase(std::unique(end_of_turn.begin(), end_of_turn.end()), end_of_turn.end());
}

void Tokenizer::Impl::add_token(const Vocabulary& v, int32_t id) {
  const std::string& text = v.tokens[id];
  std::string& out = bytes[id];
  if (types[id] == kUnused) {  // its text means nothing
    out = text;
    return;
  }
  if (text.empty()) bad(fmt::format("tokenizer.ggml.tokens[{}]: the token is empty; wanted text", id));
  const auto duplicate = [&](int32_t first) {
    bad(fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is there already, as token {}; wanted each once", id,
                    printable(text), first));
  };
  if (types[id] == kByte) {
    if (const auto byte = byte_of_name(text)) {
      out = *byte;
      int32_t& known = byte_token[static_cast<unsigned char>(*byte)];
      if (known < 0) known = id;
      return;
    }
  }
  if (!is_special(id) && append_alphabet_bytes(text, out)) {
    if (const int32_t first = ordinary.insert(out, id); first >= 0) duplicate(first);
    if (out.size() == 1) byte_token[static_cast<unsigned char>(out[0])] = id;
    return;
  }
  if (!is_utf8(text))
    bad(fmt::format("tokenizer.ggml.tokens[{}]: \"{}\" is not UTF-8; wanted text", id, printable(text)));
  // Some converters write added tokens, such as runs of spaces, as ordinary tokens in plain text and not in
  // the alphabet. We can decode them, but no merge makes them.
  out = text;
  if (!is_special(id)) return;
  if (const int32_t first = special.insert(out, id); first >= 0) duplicate(first);
  special_lengths[static_cast<unsigned char>(out[0])].push_back(out.size());
}

void Tokenizer::Impl::add_merge(std::string_view line, size_t index, std::string& scratch) {
  const size_t space = line.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == line.size()) {
    bad(fmt::format("tokenizer.ggml.merges[{}]: \"{}\" is not two tokens with a space between; wanted that",
                    index, printable(line)));
  }
  const std::string_view left = line.substr(0, space);
  const std::string_view right = line.substr(space + 1);
  const auto unknown = [&](std::string_view what) {
    bad(fmt::format(
        "tokenizer.ggml.merges[{}]: \"{}\" names \"{}\", which is not a token; wanted two that are", index,
        printable(line), printable(what)));
  };
  scratch.clear();
  if (!append_alphabet_bytes(left, scratch)) unknown(left);
  const size_t cut = scratch.size();
  if (!append_alphabet_bytes(right, scratch)) unknown(right);
  const std::string_view joined = scratch;
  const int32_t left_id = ordinary.find(joined.substr(0, cut));
  const int32_t right_id = ordinary.find(joined.substr(cut));
  const int32_t joined_id = ordinary.find(joined);
  if (left_id < 0) unknown(left);
  if (right_id < 0) unknown(right);
  if (joined_id < 0) unknown(fmt::format("{}{}", left, right));
  bpe.add_merge(left_id, right_id, joined_id);
}

// Returns the longest special token that begins at `at` and ends by `trusted_end`, or -1.
int32_t Tokenizer::Impl::special_at(std::string_view text, size_t at, size_t trusted_end) const {
  for (const size_t length : special_lengths[static_cast<unsigned char>(text[at])]) {
    if (length > trusted_end - at) continue;
    if (const int32_t id = special.find(text.substr(at, length)); id >= 0) return id;
  }
  return -1;
}

void Tokenizer::Impl::encode_text(std::string_view text, std::vector<int32_t>& out) const {
  std::vector<int32_t> ids;
  for (const std::string_view piece : pre.split(text)) {
    if (pre.ignore_merges()) {
      if (const int32_t whole = ordinary.find(piece); whole >= 0) {
        out.push_back(whole);
        continue;
      }
    }
    ids.clear();
    for (const char c : piece) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte_token[byte] < 0) {
        bad(fmt::format(
            "tokenizer.ggml.tokens: the text holds the byte 0x{:02X}, for which the vocabulary has no "
            "token (\"{}\" is missing)",
            byte, to_alphabet(std::string_view(&c, 1))));
      }
      ids.push_back(byte_token[byte]);
    }
    bpe.merge(ids);
    out.insert(out.end(), ids.begin(), ids.end());
  }
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

std::vector<int32_t> Tokenizer::encode(std::span<const Segment> segments) const {
  struct Trusted {
    size_t begin, end;
  };
  std::string text;
  std::vector<Trusted> trusted;  // in order; neighbours are joined
  for (const Segment& s : segments) {
    const size_t begin = text.size();
    text += s.text;
    if (!s.parse_special || s.text.empty()) continue;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = text.size();
    } else {
      trusted.push_back({begin, text.size()});
    }
  }

  const std::string_view all = text;
  std::vector<int32_t> ids;
  size_t done = 0;  // everything before it is encoded
  for (const Trusted& t : trusted) {
    for (size_t at = t.begin; at < t.end;) {
      const int32_t id = impl_->special_at(all, at, t.end);
      if (id < 0) {
        ++at;
        continue;
      }
      impl_->encode_text(all.substr(done, at - done), ids);
      ids.push_back(id);
      at += impl_->bytes[id].size();
      done = at;
    }
  }
  impl_->encode_text(all.substr(done), ids);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool show_special) const {
  std::string text;
  for (const int32_t id : ids) {
    impl_->check_id(id);
    if (show_special || !is_control(id)) text += impl_->bytes[id];
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
const std::string& Tokenizer::pre() const { return impl_->pre.name(); }
std::span<const int32_t> Tokenizer::end_of_turn() const { return impl_->end_of_turn; }
int32_t Tokenizer::find(std::string_view token_text) const { return impl_->special.find(token_text); }

bool Tokenizer::is_control(int32_t id) const {
  impl_->check_id(id);
  return impl_->types[id] == kControl;
}

std::string StreamDecoder::push(int32_t id) {
  std::string text;
  if (tokenizer_.is_control(id)) return text;
  held_ += tokenizer_.token_bytes(id);
  held_.erase(0, append_repaired(held_, text));
  return text;
}

std::string StreamDecoder::finish() {
  const bool cut = !held_.empty();
  held_.clear();
  return std::string(cut ? kReplacement : "");
}

}  // namespace bitnet
