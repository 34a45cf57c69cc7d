#include "tests/tokenizer/vocabulary.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "tokenizer/byte_alphabet.h"

namespace bitnet {
namespace {

std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, n = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(kDigits.find(c));
    n += 6;
    if (n >= 8) bytes += static_cast<char>(bits >> (n -= 8) & 0xff);
  }
  return bytes;
}

}  // namespace

Vocabulary small_vocabulary(const std::string& pre,
                            const std::vector<std::pair<std::string, std::string>>& merges) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = pre;
  for (int b = 0; b < 256; ++b) v.tokens.push_back(to_alphabet(std::string(1, static_cast<char>(b))));
  for (const auto& [left, right] : merges) {
    v.merges.push_back(to_alphabet(left) + " " + to_alphabet(right));
    const std::string joined = to_alphabet(left + right);
    if (std::ranges::find(v.tokens, joined) == v.tokens.end()) v.tokens.push_back(joined);
  }
  v.types.assign(v.tokens.size(), 1);
  const auto add = [&](const char* text, int32_t type) {
    v.tokens.push_back(text);
    v.types.push_back(type);
    return static_cast<int32_t>(v.tokens.size() - 1);
  };
  v.bos = add("<|begin|>", 3);
  add("<|eot_id|>", 3);
  add("<|eot_id|>x", 3);
  add("<tool>", 4);
  return v;
}

Vocabulary llama3_vocabulary(const std::filesystem::path& ranks, size_t n_ranks) {
  std::vector<std::string> tokens(n_ranks);  // by rank; empty if the file leaves it out
  std::unordered_map<std::string, size_t> rank_of;
  std::ifstream file(ranks);
  if (!file) throw std::runtime_error("cannot read " + ranks.string());
  std::string base64;
  for (size_t rank = 0; file >> base64 >> rank;) {
    if (rank >= n_ranks) break;  // ranks ascend
    tokens[rank] = from_base64(base64);
    rank_of.emplace(tokens[rank], rank);
  }

  Vocabulary v;
  v.model = "gpt2";
  for (const std::string& token : tokens) {
    if (token.empty()) {
      v.tokens.push_back("<unused>");
      v.types.push_back(5);
      continue;
    }
    v.tokens.push_back(to_alphabet(token));
    v.types.push_back(1);
    std::vector<std::tuple<size_t, size_t, size_t>> splits;
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = rank_of.find(token.substr(0, cut)), right = rank_of.find(token.substr(cut));
      if (left == rank_of.end() || right == rank_of.end()) continue;
      splits.emplace_back(left->second, right->second, cut);
    }
    std::ranges::sort(splits);
    for (const auto& [left, right, cut] : splits) {
      v.merges.push_back(to_alphabet(token.substr(0, cut)) + " " + to_alphabet(token.substr(cut)));
    }
  }
  const auto add = [&](const std::string& text) {
    v.tokens.push_back(text);
    v.types.push_back(3);
  };
  int reserved = 0;
  const auto add_reserved = [&](int n) {
    for (int i = 0; i < n; ++i) add("<|reserved_special_token_" + std::to_string(reserved++) + "|>");
  };
  v.bos = static_cast<int32_t>(v.tokens.size());
  v.eos = v.bos + 1;
  v.add_bos = true;
  add("<|begin_of_text|>");
  add("<|end_of_text|>");
  add_reserved(4);
  add("<|start_header_id|>");
  add("<|end_header_id|>");
  add_reserved(1);
  add("<|eot_id|>");
  add_reserved(246);
  return v;
}

std::string pieces(const Tokenizer& tokenizer, std::string_view text) {
  std::ostringstream out;
  const char* between = "";
  for (const int32_t id : tokenizer.encode(text, false)) {
    out << between << tokenizer.token_bytes(id);
    between = "|";
  }
  return out.str();
}

}  // namespace bitnet
