// Rows of quantised dense types, from how the file has them to how a device wants them.
#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.h"
#include "engine/layouts/pack.h"
#include "engine/layouts/pack_blocks16.h"
#include "repack.h"

namespace bitnet {

BlockRepacker::BlockRepacker(const std::string& path, Layout layout, const RowsToPack& rows)
    : path_(path),
      rows_(rows),
      layout_(layout),
      type_(rows.parts[0].tensor->type),
      block_type_(*find_block_type(type_)) {}

uint64_t BlockRepacker::code_bytes(uint32_t n) const {
  return layout_ == Layout::blocks16 ? in_whole_sets(n) * block16_row_bytes(type_, rows_.n_in).codes
                                     : n * block_row_bytes(type_, rows_.n_in).codes;
}

uint64_t BlockRepacker::scale_bytes(uint32_t n) const {
  return layout_ == Layout::blocks16 ? in_whole_sets(n) * block16_row_bytes(type_, rows_.n_in).scales
                                     : n * block_row_bytes(type_, rows_.n_in).scales;
}

// Gives the codes of a row, and how far its integers go.
BlockBound BlockRepacker::unpack(uint32_t r, int8_t* codes) const {
  const size_t n = rows_.n_in, units = n / block_type_.unit;
  std::vector<float> d(units), m(units);
  const GgufTensor* tensor = nullptr;
  unpack_blocks(type_, rows_.row(r, tensor), n, codes, d.data(), m.data());
  const BlockBound bound =
      bound_of_blocks(codes, d.data(), block_type_.has_min ? m.data() : nullptr, n, block_type_.unit);
  if (!bound.finite())
    throw Error(ErrorKind::model,
                fmt::format("{}: tensor {} holds a scale of NaN or infinity, wanted finite ones",
                            printable(path_), printable(tensor->name)));
  return bound;
}

// Packs rows [begin, end) behind row `first` of packed_.
BlockBound BlockRepacker::pack_rows(uint32_t begin, uint32_t end, uint32_t first) {
  std::vector<int8_t> codes(rows_.n_in);
  BlockBound bound;
  for (uint32_t r = begin; r < end; ++r) {
    const GgufTensor* tensor = nullptr;
    bound.add(unpack(r, codes.data()));
    pack_blocks(type_, rows_.row(r, tensor), rows_.n_in, packed_.codes.data() + code_bytes(r - first),
                packed_.scales.data() + scale_bytes(r - first));
  }
  return bound;
}

BlockBound BlockRepacker::pack_sixteens(uint32_t begin, uint32_t end, uint32_t first) {
  constexpr size_t k16 = kRowsTogether;
  const size_t n = rows_.n_in, units = n / block_type_.unit, blocks = n / find_file_type(type_)->block;
  std::vector<int8_t> codes(k16 * n), steps(k16 * units), min_steps(k16 * units);
  std::vector<uint16_t> d(k16 * blocks), dmin(k16 * blocks);
  BlockBound bound;
  for (uint32_t r = begin; r < end; r += k16) {
    if (end - r < k16)
      for (auto* halves : {&d, &dmin}) std::ranges::fill(*halves, uint16_t{0});
    for (uint32_t i = 0; i < std::min<uint32_t>(k16, end - r); ++i) {
      const GgufTensor* tensor = nullptr;
      bound.add(unpack(r + i, &codes[i * n]));
      unpack_block_scales(type_, rows_.row(r + i, tensor), n, &d[i * blocks], &steps[i * units],
                          &dmin[i * blocks], &min_steps[i * units]);
    }
    pack_blocks16(type_, {codes.data(), d.data(), steps.data(), dmin.data(), min_steps.data()}, n,
                  packed_.codes.data() + code_bytes(r - first),
                  packed_.scales.data() + scale_bytes(r - first));
  }
  return bound;
}

const PackedBlocks& BlockRepacker::pack(uint32_t begin, uint32_t end) {
  packed_.codes.resize(code_bytes(end - begin));
  packed_.scales.resize(scale_bytes(end - begin));
  share_rows(begin, end, [&](uint32_t from, uint32_t to) {
    const BlockBound bound =
        layout_ == Layout::blocks16 ? pack_sixteens(from, to, begin) : pack_rows(from, to, begin);
    const std::lock_guard lock(mutex_);
    bound_.add(bound);
  });
  return packed_;
}

}  // namespace bitnet
