// Rows of tensors in the layout of a device.
//
// Thread rule: a Repacker or BlockRepacker belongs to one thread; it packs on threads of its own.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/gguf.h"
#include "engine/layouts/blocks.h"
#include "engine/layouts/file_types.h"
#include "engine/layouts/layout.h"

namespace bitnet {

// The rows of up to three tensors of one type, stacked, in the order in which a device wants them.
struct RowsToPack {
  struct Part {
    const GgufTensor* tensor;
    uint32_t rows;
    uint32_t head_dim =
        0;  // not 0: rows come by heads of so many, of which the first rope_dim are interleaved
    uint32_t rope_dim = 0;
    bool is_copy = false;  // the tensor's data go when the rows have been packed
  };
  std::vector<Part> parts;
  uint32_t n_in = 0;

  uint32_t rows() const;
  // Where the bytes of row `r` of the stack lie, and of which tensor they are.
  const std::byte* row(uint32_t r, const GgufTensor*& tensor) const;
};

// Whether rows of I2_S hold a code that is no weight.
bool i2s_rows_have_code_3(std::span<const std::byte> codes, uint32_t rows);

// The rows of matrices of experts, one expert after the other, each with its rows of all parts.
struct RowsByExpert {
  std::vector<GgufTensor> cuts;
  std::vector<std::vector<std::byte>> copies;
  RowsToPack rows;
};
// `stacked` has in each part the rows of all experts, and data_of gives them; what does not lie in the tensor
// is copied.
RowsByExpert rows_by_expert(
    const RowsToPack& stacked, uint32_t n_expert,
    const std::function<std::span<const std::byte>(const RowsToPack::Part&)>& data_of);

// Calls work(begin, end) for shares of rows [begin, end) on several threads, and throws what one of them
// throws. A share begins a multiple of 16 rows behind `begin`.
void share_rows(uint32_t begin, uint32_t end, const std::function<void(uint32_t, uint32_t)>& work);

// A piece of a stack in Layout::groups, groups16 or fives16.
struct PackedRows {
  std::vector<std::byte> codes;
  std::vector<uint16_t> scales;  // F16
};

class Repacker {
 public:
  // `path` is for messages. Codes lie in `layout`, scales in the order of `scales`. scale_every is the type's
  // own or a multiple, where all scales of a row are the same.
  Repacker(const std::string& path, Layout layout, Layout scales, const RowsToPack& rows,
           uint32_t scale_every);

  // Packs rows [begin, end) into packed(). In a layout with bands both are multiples of 16, or `end` is the
  // end of all. Throws Error(model) for codes and scales that are none.
  const PackedRows& pack(uint32_t begin, uint32_t end);
  double largest_bound() const { return largest_bound_; }  // of all rows so far, bound_of_scales

 private:
  double pack_some(uint32_t begin, uint32_t end, uint32_t first);

  const std::string& path_;
  const Layout layout_, scale_layout_;
  const RowsToPack& rows_;
  const FileType& type_;
  const uint32_t scale_every_;
  PackedRows packed_;
  double largest_bound_ = 0;
  std::mutex mutex_;  // of largest_bound_, while rows are shared
};

// A piece of a stack in Layout::blocks or blocks16.
struct PackedBlocks {
  std::vector<std::byte> codes, scales;
};

class BlockRepacker {
 public:
  // `path` is for messages; `rows` are of one dense type that has blocks.
  BlockRepacker(const std::string& path, Layout layout, const RowsToPack& rows);

  // Bytes of the codes and scales of n rows.
  uint64_t code_bytes(uint32_t n) const;
  uint64_t scale_bytes(uint32_t n) const;

  // Packs rows [begin, end). `begin` is a multiple of 16. Throws Error(model) for scales that are no numbers.
  const PackedBlocks& pack(uint32_t begin, uint32_t end);
  const BlockBound& bound() const { return bound_; }  // of all rows so far

 private:
  BlockBound unpack(uint32_t row, int8_t* codes) const;
  BlockBound pack_rows(uint32_t begin, uint32_t end, uint32_t first);
  BlockBound pack_sixteens(uint32_t begin, uint32_t end, uint32_t first);

  const std::string& path_;
  const RowsToPack& rows_;
  const Layout layout_;
  const TensorType type_;
  const BlockType& block_type_;
  PackedBlocks packed_;
  BlockBound bound_;
  std::mutex mutex_;  // of bound_, while rows are shared
};

}  // namespace bitnet
