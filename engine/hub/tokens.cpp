#include "tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace bitnet::hub {
namespace {

// The values of tokenizer.ggml.token_type.
constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

constexpr const char* kSpaceMark = "\u2581";  // ▁, for which SentencePiece takes a space

// The patterns of pre-tokenizers that cut by one, as tokenizer.json spells them.
struct Pattern {
  std::string_view regex;
  const char* pre;
};
constexpr Pattern kPatterns[] = {
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "llama-bpe"},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "qwen2"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "gpt-4o"},
    {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     "tekken"},
    {R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "gpt-2"},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "gpt-2"},
};

// The steps of a pre-tokenizer, normalizer or post-processor, which is one or a list of them under `list`.
std::vector<Fields> steps_of(const Fields& f, const char* name, const char* list) {
  const auto one = f.find_object(name);
  if (!one) return {};
  if (one->find(list)) return one->find_objects(list);
  return {*one};
}

bool is(const Fields& step, std::string_view type) { return step.find_text("type") == type; }

bool cuts(const Fields& byte_level) { return byte_level.find_flag("use_regex").value_or(true); }

std::string regex_of(const Fields& split) {
  const auto pattern = split.find_object("pattern");
  return pattern ? pattern->find_text("Regex").value_or("") : "";
}

// The name that GGUF files have for a way to cut text into words; one that nobody knows where it has none.
std::string pre_of(const std::vector<Fields>& steps, const std::vector<std::string>& tokens) {
  std::string kinds;
  for (const Fields& s : steps)
    kinds += s.get_text("type") + (is(s, "ByteLevel") && !cuts(s) ? " without a pattern, " : ", ");
  if (kinds == "Split, ByteLevel without a pattern, ") {
    const Pattern* known = std::ranges::find(kPatterns, regex_of(steps[0]),
                                             [](const Pattern& p) { return std::string(p.regex); });
    if (known != std::end(kPatterns)) return known->pre;
  }
  if (kinds == "ByteLevel, ") return "gpt-2";
  if (kinds == "Digits, ByteLevel, ") return "smollm";
  if (kinds == "Punctuation, ByteLevel, Digits, Split, " && regex_of(steps[3]) == "[0-9][0-9][0-9]")
    return "falcon";
  if (!tokens.empty() && tokens[0] == ">>TITLE<<") return "falcon3";
  return "of tokenizer.json";
}

bool is_byte_name(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token[5] == '>';
}

// A field that is a text, or an object with one in `content`.
std::optional<std::string> token_text(const std::optional<Fields>& f, const char* name) {
  if (!f) return std::nullopt;
  const json* value = f->find(name);
  if (!value) return std::nullopt;
  if (value->is_object()) return f->find_object(name)->find_text("content");
  return f->find_text(name);
}

class Reader {
 public:
  Reader(const TokenFiles& files, uint32_t n_vocab, Metadata& to)
      : f_(files), model_(*require(files.tokenizer, "model")), n_vocab_(n_vocab), to_(to) {}

  void read() {
    const auto steps = steps_of(f_.tokenizer, "pre_tokenizer", "pretokenizers");
    const bool bytes = std::ranges::any_of(steps, [](const Fields& s) { return is(s, "ByteLevel"); });
    const bool falls_back = model_.find_flag("byte_fallback").value_or(false);
    if (const std::string type = model_.find_text("type").value_or("BPE");
        type != "BPE" || bytes == falls_back)
      model_.fail("type",
                  fmt::format("wanted BPE over bytes (ByteLevel), or with byte_fallback as SentencePiece "
                              "has it, got \"{}\"{}",
                              printable(type), type == "BPE" ? " that is neither or both" : ""));
    read_vocabulary(falls_back);
    read_added();
    to_.text("tokenizer.ggml.model", bytes ? "gpt2" : "llama");
    if (bytes) to_.text("tokenizer.ggml.pre", pre_of(steps, tokens_));
    to_.texts("tokenizer.ggml.tokens", tokens_);
    to_.wholes("tokenizer.ggml.token_type", types_);
    if (bytes)
      to_.texts("tokenizer.ggml.merges", merges());
    else
      read_sentence_piece(steps);
    read_ends();
    read_template();
    read_wishes();
  }

 private:
  static std::optional<Fields> require(const Fields& f, const char* name) {
    f.get(name);
    return f.find_object(name);
  }

  [[noreturn]] void fail_id(const std::string& token, const std::string& got) const {
    hub::fail(f_.tokenizer.path(),
              fmt::format("token \"{}\": wanted an id of the {} rows of the embedding, got {}",
                          printable(token), n_vocab_, got));
  }

  void put(const std::string& token, const json& id, int32_t type) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= n_vocab_) fail_id(token, shown(id));
    const auto at = id.get<uint32_t>();
    if (types_[at] != kUnused && tokens_[at] != token)
      fail_id(token, fmt::format("{}, which \"{}\" has", at, printable(tokens_[at])));
    tokens_[at] = token;
    types_[at] = type;
    ids_[token] = static_cast<int32_t>(at);
  }

  void read_vocabulary(bool sentence_piece) {
    const json& vocab = model_.get("vocab");
    if (!vocab.is_object()) model_.fail("vocab", fmt::format("wanted an object, got {}", shown(vocab)));
    types_.assign(n_vocab_, kUnused);
    for (uint32_t i = 0; i < n_vocab_; ++i) tokens_.push_back(fmt::format("[PAD{}]", i));
    const std::string unknown = model_.find_text("unk_token").value_or("");
    for (const auto& [token, id] : vocab.items()) {
      const bool byte = sentence_piece && is_byte_name(token);
      put(token, id, byte ? kByte : sentence_piece && token == unknown ? kUnknown : kNormal);
    }
  }

  void read_added() {
    for (const Fields& added : f_.tokenizer.find_objects("added_tokens")) {
      const std::string token = added.get_text("content");
      const json& id = added.get("id");
      const bool known_unknown =
          id.is_number_unsigned() && id.get<uint64_t>() < n_vocab_ && types_[id.get<uint32_t>()] == kUnknown;
      const bool special = added.find_flag("special").value_or(false);
      put(token, id, known_unknown ? kUnknown : special ? kControl : kUserDefined);
    }
  }

  // "left right" each; newer files have lists of the two.
  std::vector<std::string> merges() const {
    std::vector<std::string> all;
    const json& merges = model_.get("merges");
    if (!merges.is_array()) model_.fail("merges", fmt::format("wanted a list, got {}", shown(merges)));
    all.reserve(merges.size());
    for (const json& merge : merges) {
      const bool pair = merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string();
      if (!merge.is_string() && !pair)
        model_.fail("merges", fmt::format("wanted a text or two at {}, got {}", all.size(), shown(merge)));
      all.push_back(pair ? merge[0].get<std::string>() + " " + merge[1].get<std::string>()
                         : merge.get<std::string>());
    }
    return all;
  }

  // SentencePiece has a score for a token in place of a rank for each way to make it: the earlier a merge
  // stands, the higher its token's. A token that no merge makes comes after all that one makes.
  void read_sentence_piece(const std::vector<Fields>& pre_tokenizer) {
    const std::vector<std::string> all = merges();
    std::vector<float> scores(n_vocab_);
    for (uint32_t i = 0; i < n_vocab_; ++i) scores[i] = -static_cast<float>(all.size());
    for (size_t i = all.size(); i-- > 0;) {
      const size_t space = all[i].find(' ', 1);
      if (space == std::string::npos)
        model_.fail("merges", fmt::format("wanted two tokens with a space between at {}, got one", i));
      const auto found = ids_.find(all[i].substr(0, space) + all[i].substr(space + 1));
      if (found != ids_.end()) scores[static_cast<size_t>(found->second)] = -static_cast<float>(i);
    }
    to_.reals("tokenizer.ggml.scores", scores);
    bool prefix = false;
    for (const Fields& s : steps_of(f_.tokenizer, "normalizer", "normalizers"))
      prefix |= is(s, "Prepend") && s.find_text("prepend") == kSpaceMark;
    for (const Fields& s : pre_tokenizer)
      prefix |= is(s, "Metaspace") && s.find_text("prepend_scheme").value_or("always") != "never" &&
                s.find_flag("add_prefix_space").value_or(true);
    to_.flag("tokenizer.ggml.add_space_prefix", prefix);
    if (const auto found = ids_.find(model_.find_text("unk_token").value_or("")); found != ids_.end())
      to_.whole("tokenizer.ggml.unknown_token_id", static_cast<uint32_t>(found->second));
  }

  // One number or a list of them.
  std::vector<int32_t> ids_of(const std::optional<Fields>& f, const char* name) const {
    const json* value = f ? f->find(name) : nullptr;
    if (!value) return {};
    std::vector<int32_t> ids;
    for (const json& id : value->is_array() ? *value : json::array({*value})) {
      if (!id.is_number_unsigned() || id.get<uint64_t>() >= n_vocab_)
        f->fail(name, fmt::format("wanted ids of the {} rows of the embedding, got {}", n_vocab_, shown(id)));
      ids.push_back(id.get<int32_t>());
    }
    return ids;
  }

  // The id of a special token that tokenizer_config.json spells, or of config.json's number.
  std::optional<int32_t> named(const char* text, const char* number) const {
    if (const auto spelled = token_text(f_.tokenizer_config, text)) {
      const auto found = ids_.find(*spelled);
      if (found != ids_.end()) return found->second;
    }
    const std::vector<int32_t> ids = ids_of(f_.config, number);
    return ids.empty() ? std::nullopt : std::optional(ids[0]);
  }

  void read_ends() {
    const auto bos = named("bos_token", "bos_token_id"), eos = named("eos_token", "eos_token_id");
    if (bos) to_.whole("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(*bos));
    if (eos) to_.whole("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(*eos));
    std::vector<int32_t> ends = ids_of(f_.config, "eos_token_id");
    for (const int32_t id : ids_of(f_.generation_config, "eos_token_id")) ends.push_back(id);
    if (!ends.empty()) to_.wholes("tokenizer.ggml.eos_token_ids", ends);
    to_.flag("tokenizer.ggml.add_bos_token", bos && adds_bos(tokens_[static_cast<size_t>(*bos)]));
  }

  // The post-processor decides where there is one; LLaMA's class of tokenizers makes its own of the flag.
  bool adds_bos(const std::string& bos) const {
    bool first = false, made = false;
    for (const Fields& s : steps_of(f_.tokenizer, "post_processor", "processors")) {
      made |= is(s, "TemplateProcessing");
      for (const Fields& part : s.find_objects("single")) {
        const auto special = part.find_object("SpecialToken");
        first |= special && special->find_text("id") == bos;
        break;
      }
    }
    if (made) return first;
    return f_.tokenizer_config && f_.tokenizer_config->find_flag("add_bos_token").value_or(false);
  }

  void read_template() {
    constexpr const char* kKey = "tokenizer.chat_template";
    if (f_.chat_template) {
      to_.text(kKey, *f_.chat_template);
      return;
    }
    const json* value = f_.tokenizer_config ? f_.tokenizer_config->find("chat_template") : nullptr;
    if (!value) return;
    if (!value->is_array()) {
      to_.text(kKey, *f_.tokenizer_config->find_text("chat_template"));
      return;
    }
    for (const Fields& one : f_.tokenizer_config->find_objects("chat_template"))
      if (one.get_text("name") == "default") to_.text(kKey, one.get_text("template"));
  }

  void read_wishes() {
    const auto& g = f_.generation_config;
    if (!g || !g->find_flag("do_sample").value_or(false)) return;
    read_wish(*g, "temperature", "general.sampling.temp");
    read_wish(*g, "top_p", "general.sampling.top_p");
    read_wish(*g, "min_p", "general.sampling.min_p");
    read_wish(*g, "repetition_penalty", "general.sampling.penalty_repeat");
    read_wish(*g, "top_k", "general.sampling.top_k");
  }

  // No wish is a reason to refuse a model. One that is no number goes on as a text, which whoever reads
  // wishes passes over and tells of.
  void read_wish(const Fields& g, const char* name, const char* key) {
    const json* value = g.find(name);
    if (!value) return;
    if (value->is_number() && std::isfinite(value->get<float>()))
      to_.real(key, value->get<float>());
    else
      to_.text(key, shown(*value));
  }

  const TokenFiles& f_;
  const Fields model_;
  const uint32_t n_vocab_;
  Metadata& to_;
  std::vector<std::string> tokens_;
  std::vector<int32_t> types_;
  std::map<std::string, int32_t> ids_;
};

}  // namespace

void read_tokens(const TokenFiles& files, uint32_t n_vocab, Metadata& to) {
  Reader(files, n_vocab, to).read();
}

}  // namespace bitnet::hub
