#include "spm.h"

#include <algorithm>
#include <utility>

#include "merge_pairs.h"
#include "utf8.h"

namespace bitnet {
namespace {

// Each look-up of two neighbours reads as many bytes as they have, so that a file with very long tokens would
// make encoding slow. No text becomes a token that is longer than this.
constexpr size_t kLongest = 1024;

bool has_space_inside(std::string_view bytes) {
  const size_t first = bytes.find_first_not_of(' ');
  return first != std::string_view::npos && bytes.find(' ', first) != std::string_view::npos;
}

}  // namespace

Spm::Spm(std::vector<float> scores, bool space_prefix, int32_t unknown)
    : TextEncoder(scores.size()),
      scores_(std::move(scores)),
      space_prefix_(space_prefix),
      unknown_(unknown) {}

void Spm::add_token(int32_t id, const std::string& text, std::string& bytes) {
  check_utf8(id, text);
  bytes = with_spaces(text);
  // SentencePiece sees no space, only ▁. So no text becomes a token that has one.
  if (text.find(' ') != std::string::npos || bytes.size() > kLongest) return;
  insert(id, bytes);
  longest_ = std::max(longest_, bytes.size());
  space_inside_ = space_inside_ || has_space_inside(bytes);
}

void Spm::encode(std::string_view text, bool starts, std::vector<int32_t>& ids) const {
  if (text.empty()) return;
  std::string spaced = with_spaces(text);
  if (starts && space_prefix_) spaced.insert(spaced.begin(), ' ');
  const std::string_view all = spaced;
  std::vector<Range> symbols;
  if (space_inside_) {
    encode_stretch(all, symbols, ids);
    return;
  }
  // No token reaches over the place between a word and the next space, so each word can be joined by itself.
  for (size_t begin = 0; begin < all.size();) {
    const size_t word = std::min(all.find_first_not_of(' ', begin), all.size());
    const size_t end = std::min(all.find(' ', word), all.size());
    encode_stretch(all.substr(begin, end - begin), symbols, ids);
    begin = end;
  }
}

// `symbols` is scratch.
void Spm::encode_stretch(std::string_view text, std::vector<Range>& symbols,
                         std::vector<int32_t>& ids) const {
  symbols.clear();
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = utf8_step(text.substr(at));
    const size_t size = step.kind == Utf8::valid ? step.length : 1;
    symbols.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(size)});
    at += size;
  }
  merge_pairs<float>(symbols, [&](Range left, Range right) -> std::optional<Joined<float, Range>> {
    const Range both = {left.begin, left.size + right.size};
    if (both.size > longest_) return std::nullopt;
    const int32_t id = ordinary_.find(text.substr(both.begin, both.size));
    if (id < 0) return std::nullopt;
    return Joined<float, Range>{-scores_[id], both};
  });
  for (const Range& symbol : symbols) {
    const std::string_view bytes = text.substr(symbol.begin, symbol.size);
    if (const int32_t id = ordinary_.find(bytes); id >= 0) {
      ids.push_back(id);
    } else {
      spell(bytes, unknown_, ids);
    }
  }
}

}  // namespace bitnet
