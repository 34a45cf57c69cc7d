#include "bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "byte_alphabet.h"
#include "engine/error.h"
#include "merge_pairs.h"
#include "mix.h"

namespace bitnet {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

[[noreturn]] void bad_merge(size_t index, std::string_view line, std::string_view problem) {
  throw Error(ErrorKind::model,
              fmt::format("tokenizer.ggml.merges[{}]: \"{}\" {}", index, printable(line), problem));
}

}  // namespace

void MergeLine::fail_unknown(std::string_view token) const {
  bad_merge(index, line,
            fmt::format("names \"{}\", which is not a token; wanted two that are", printable(token)));
}

MergeLine parse_merge(std::string_view line, size_t index) {
  const size_t space = line.find(' ', 1);
  if (space == std::string_view::npos || space + 1 == line.size())
    bad_merge(index, line, "is not two tokens with a space between; wanted that");
  return {line.substr(0, space), line.substr(space + 1), line, index};
}

Bpe::Bpe(size_t n_merges)
    : seed_(hash_seed()), slots_(std::bit_ceil(std::max<size_t>(16, n_merges * 2)), Slot{kFree, 0, 0}) {}

void Bpe::add_merge(int32_t left, int32_t right, int32_t merged) {
  const uint64_t pair = pair_of(left, right);
  const size_t mask = slots_.size() - 1;
  size_t i = mix(pair ^ seed_) & mask;
  for (; slots_[i].pair != kFree; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return;
  }
  slots_[i] = {pair, n_merges_++, merged};
}

const Bpe::Slot* Bpe::find(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  const size_t mask = slots_.size() - 1;
  for (size_t i = mix(pair ^ seed_) & mask; slots_[i].pair != kFree; i = (i + 1) & mask) {
    if (slots_[i].pair == pair) return &slots_[i];
  }
  return nullptr;
}

void Bpe::merge(std::vector<int32_t>& ids) const {
  merge_pairs<uint32_t>(ids, [this](int32_t left, int32_t right) {
    const Slot* slot = find(left, right);
    return slot == nullptr ? std::nullopt
                           : std::optional(Joined<uint32_t, int32_t>{slot->rank, slot->merged});
  });
}

ByteBpe::ByteBpe(std::string_view pre, size_t n_tokens, size_t n_merges)
    : TextEncoder(n_tokens), pre_(pre), bpe_(n_merges) {}

void ByteBpe::add_token(int32_t id, const std::string& text, std::string& bytes) {
  bytes.clear();
  if (!append_alphabet_bytes(text, bytes)) {
    check_utf8(id, text);
    bytes = text;
    return;
  }
  insert(id, bytes);
  if (bytes.size() == 1) byte_token_[static_cast<unsigned char>(bytes[0])] = id;
}

void ByteBpe::add_merge(std::string_view line, size_t index) {
  const MergeLine merge = parse_merge(line, index);
  scratch_.clear();
  if (!append_alphabet_bytes(merge.left, scratch_)) merge.fail_unknown(merge.left);
  const size_t cut = scratch_.size();
  if (!append_alphabet_bytes(merge.right, scratch_)) merge.fail_unknown(merge.right);
  const std::string_view joined = scratch_;
  const int32_t left_id = ordinary_.find(joined.substr(0, cut));
  const int32_t right_id = ordinary_.find(joined.substr(cut));
  const int32_t joined_id = ordinary_.find(joined);
  if (left_id < 0) merge.fail_unknown(merge.left);
  if (right_id < 0) merge.fail_unknown(merge.right);
  if (joined_id < 0) merge.fail_unknown(fmt::format("{}{}", merge.left, merge.right));
  bpe_.add_merge(left_id, right_id, joined_id);
}

void ByteBpe::encode(std::string_view text, bool /*starts*/, std::vector<int32_t>& ids) const {
  std::vector<int32_t> of_piece;
  for (const std::string_view piece : pre_.split(text)) {
    if (pre_.ignore_merges()) {
      if (const int32_t whole = ordinary_.find(piece); whole >= 0) {
        ids.push_back(whole);
        continue;
      }
    }
    of_piece.clear();
    for (const char byte : piece) {
      const int32_t id = byte_token_[static_cast<unsigned char>(byte)];
      if (id < 0) fail_without_byte(byte, to_alphabet(std::string_view(&byte, 1)));
      of_piece.push_back(id);
    }
    bpe_.merge(of_piece);
    ids.insert(ids.end(), of_piece.begin(), of_piece.end());
  }
}

}  // namespace bitnet
