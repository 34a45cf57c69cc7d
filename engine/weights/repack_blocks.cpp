#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.h"
#include "repack.h"

namespace bitnet {
namespace {

uint64_t sets_of(uint64_t rows, uint64_t together) { return (rows + together - 1) / together; }

}  // namespace

BlockRepacker::BlockRepacker(const std::string& path, Layout layout, const RowsToPack& rows)
    : path_(path),
      rows_(rows),
      type_(rows.parts[0].tensor->type),
      block_type_(*find_block_type(type_)),
      packer_(block_packer(layout)) {}

uint64_t BlockRepacker::code_bytes(uint32_t n) const {
  return sets_of(n, packer_.rows_together) * packer_.code_bytes(block_type_, rows_.n_in);
}

uint64_t BlockRepacker::scale_bytes(uint32_t n) const {
  return sets_of(n, packer_.rows_together) * packer_.scale_bytes(block_type_, rows_.n_in);
}

// Packs rows [begin, end) behind row `first` of packed_.
BlockBound BlockRepacker::pack_some(uint32_t begin, uint32_t end, uint32_t first) {
  const size_t n = rows_.n_in, together = packer_.rows_together, units = n / block_type_.unit;
  const size_t blocks = n / find_file_type(type_)->block;
  std::vector<int8_t> codes(together * n), steps(together * units), min_steps(together * units);
  std::vector<uint16_t> d(together * blocks), dmin(together * blocks);
  std::vector<float> unit_d(units), unit_m(units);
  const bool has_min = block_type_.has_min;
  BlockBound bound;
  for (size_t r = begin; r < end; r += together) {
    const size_t there = std::min(together, end - r);
    if (there < together)
      for (auto* half : {&d, &dmin}) std::ranges::fill(*half, uint16_t{0});
    for (size_t i = 0; i < there; ++i) {
      const GgufTensor* tensor = nullptr;
      const std::byte* row = rows_.row(static_cast<uint32_t>(r + i), tensor);
      unpack_blocks(type_, row, n, &codes[i * n], unit_d.data(), unit_m.data());
      unpack_block_scales(type_, row, n, &d[i * blocks], &steps[i * units], &dmin[i * blocks],
                          &min_steps[i * units]);
      const BlockBound of_row =
          bound_of_blocks(&codes[i * n], unit_d.data(), has_min ? unit_m.data() : nullptr, n, block_type_.unit);
      if (!of_row.finite())
        throw Error(ErrorKind::model,
                    fmt::format("{}: tensor {} holds a scale of NaN or infinity, wanted finite ones",
                                printable(path_), printable(tensor->name)));
      bound.add(of_row);
    }
    const size_t set = (r - first) / together;
    packer_.pack(block_type_, {codes.data(), d.data(), steps.data(), dmin.data(), min_steps.data()}, n,
                 packed_.codes.data() + set * packer_.code_bytes(block_type_, n),
                 packed_.scales.data() + set * packer_.scale_bytes(block_type_, n));
  }
  return bound;
}

const PackedBlocks& BlockRepacker::pack(uint32_t begin, uint32_t end) {
  packed_.codes.resize(code_bytes(end - begin));
  packed_.scales.resize(scale_bytes(end - begin));
  share_rows(begin, end, [&](uint32_t from, uint32_t to) {
    const BlockBound bound = pack_some(from, to, begin);
    const std::lock_guard lock(mutex_);
    bound_.add(bound);
  });
  return packed_;
}

}  // namespace bitnet
