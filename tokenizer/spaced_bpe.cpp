#include "spaced_bpe.h"

#include <algorithm>

#include "utf8.h"

namespace bitnet {

SpacedBpe::SpacedBpe(size_t n_tokens, size_t n_merges, int32_t unknown)
    : TextEncoder(n_tokens), bpe_(n_merges), unknown_(unknown) {}

void SpacedBpe::add_token(int32_t id, const std::string& text, std::string& bytes) {
  check_utf8(id, text);
  bytes = with_spaces(text);
  // Merges see no space, only ▁. So no text becomes a token that has one.
  if (text.find(' ') == std::string::npos) insert(id, bytes);
}

void SpacedBpe::add_merge(std::string_view line, size_t index, const SpecialTokens& special) {
  const MergeLine merge = parse_merge(line, index);
  std::string joined = with_spaces(merge.left);
  const size_t cut = joined.size();
  joined += with_spaces(merge.right);
  const std::string_view all = joined;
  int32_t ids[3];
  size_t n = 0;
  for (const std::string_view text : {all.substr(0, cut), all.substr(cut), all}) {
    ids[n] = ordinary_.find(text);
    if (ids[n++] >= 0) continue;
    if (special.find(text) < 0) merge.fail_unknown(text);
    return;
  }
  bpe_.add_merge(ids[0], ids[1], ids[2]);
}

void SpacedBpe::encode(std::string_view text, bool /*starts*/, std::vector<int32_t>& ids) const {
  const std::string spaced = with_spaces(text);
  for (std::string_view rest = spaced; !rest.empty();) {
    const size_t n_ends = std::min(rest.find_first_not_of('\n'), rest.size());
    const size_t size = n_ends > 0 ? n_ends : std::min(rest.find('\n'), rest.size());
    const std::string_view piece = rest.substr(0, size);
    rest.remove_prefix(size);
    const int32_t whole = n_ends > 0 ? ordinary_.find(piece) : -1;
    if (whole >= 0) {
      ids.push_back(whole);
    } else {
      encode_piece(piece, ids);
    }
  }
}

void SpacedBpe::encode_piece(std::string_view piece, std::vector<int32_t>& ids) const {
  std::vector<int32_t> of_piece;
  for (size_t at = 0; at < piece.size();) {
    const Utf8Step step = utf8_step(piece.substr(at));
    const std::string_view symbol = piece.substr(at, step.kind == Utf8::valid ? step.length : 1);
    at += symbol.size();
    if (const int32_t id = ordinary_.find(symbol); id >= 0) {
      of_piece.push_back(id);
    } else {
      spell(symbol, unknown_, of_piece);  // no merge has the token of a byte
    }
  }
  bpe_.merge(of_piece);
  ids.insert(ids.end(), of_piece.begin(), of_piece.end());
}

}  // namespace bitnet
