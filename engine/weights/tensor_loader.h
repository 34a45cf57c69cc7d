// Copies tensors to a device, in its layouts, and reports how far it is. tensor_loader.cpp has what is
// common, and dense projections; load_ternary.cpp ternary ones, load_tables.cpp embeddings and heads.
//
// Thread rule and errors: as loader.h.
#pragma once

#include <algorithm>
#include <map>

#include "loader.h"
#include "repack.h"

namespace bitnet {

class TensorLoader {
 public:
  TensorLoader(const ModelFile& file, Backend& backend, I2sLayout layout, WeightHomes homes,
               const std::function<bool(uint64_t, uint64_t)>& on_progress)
      : file_(file),
        c_(file.config),
        backend_(backend),
        layout_(layout),
        homes_(homes),
        on_progress_(on_progress) {}
  void begin() const { report(0); }
  void finish();
  Norm norm(const NormOf<const GgufTensor*>& from);
  BufferPtr maybe(const GgufTensor* tensor) { return tensor ? whole(*tensor) : nullptr; }
  BufferPtr suppressed();
  // Vectors behind each other. `by_heads` as of projection.
  BufferPtr stacked(const std::array<const GgufTensor*, 3>& vectors, size_t by_heads = 0);
  // What is folded into this tensor.
  Rotation rotation_of(const GgufTensor& tensor);
  Rotation embedding_rotation();

  // `by_heads` says how many tensors of the stack, the first ones, have rows that RoPE rotates.
  Matrix projection(const TensorStack& stack, size_t by_heads = 0);
  // Splits the table into chunks of rows that one binding can reach.
  Table table(const GgufTensor& tensor);
  // The projection of a ternary table onto the vocabulary; it shares the table's buffers.
  Matrix head(const Table& t);

 private:
  static constexpr uint64_t kStep = 16 << 20;  // bytes between two reports
  static constexpr uint64_t kPadding = 16;     // kernels load 16 bytes at a time, also at the end of a table

  // A projection without its rotation.
  Matrix unrotated(const TensorStack& stack, size_t by_heads);
  Rotation rotation_for(uint32_t width);

  // What the reader does with a piece: it packs it as this loader would, into its place.
  WeightReader::Put put_in_place(const TensorStack& stack, size_t by_heads) const;
  // A matrix that stays in the file: it is packed once to see what is in it, and where its buffers will lie.
  Matrix from_file(const TensorStack& stack, size_t by_heads);
  // For the piece that is loaded, where it was placed.
  BufferPtr allocate(uint64_t bytes);
  // As Backend::adopt, of the rows of a part as they lie in the file.
  BufferPtr adopt(const RowsToPack::Part& part, std::span<const std::byte> rows);
  BufferPtr whole(const GgufTensor& tensor);
  // Whether the codes of this stack are to lie in host memory in 1.6 bits.
  bool in_fives(const RowsToPack& rows) const;
  // Corrects what the placement says of a piece whose codes take fewer bytes than in two bits.
  void count_fives(const Matrix& m);
  // A part of a stack in 1.6 bits. There is one scale, that of the tensor.
  void load_trits_in_fives(const RowsToPack::Part& part, uint32_t first_row, Matrix& m);
  // An i2_s stack: as it lies in the file, where that is the kernels' own order.
  void load_trits(const RowsToPack& rows, Matrix& m);
  std::span<const std::byte> block128_in_order(const RowsToPack::Part& part, std::span<const std::byte> codes,
                                               uint64_t row_bytes);
  // Rows of a head in the order in which kernels rotate them.
  std::span<const std::byte> rows_in_order(const RowsToPack::Part& part, std::span<const std::byte> rows,
                                           uint64_t row_bytes);
  // Whether ternary experts of all types lie in Layout::groups.
  bool is_by_expert(const Matrix& m) const { return m.n_expert && backend_.group_layout() == Layout::groups; }
  // The rows of experts one expert after the other. I2_S has a scale of 1 a row there, and its own is that of
  // the part.
  RowsByExpert by_expert(const RowsToPack& stacked, Matrix& m);
  void load_groups(const RowsToPack& stacked, Matrix& m);
  // Each part has a type, codes, scales and `fixed` of its own.
  void load_blocks(const RowsToPack& rows, Matrix& m);
  // Rows as they lie in the file, where RoPE wants no other order.
  void load_floats(const RowsToPack& rows, Matrix& m);
  // A row of an i2_s table has one scale, 1, and the tensor's is Table::scale.
  void load_ternary(GgufTensor tensor, Table& t);

  struct Packed {
    BufferPtr codes, scales;
    uint32_t scale_every;
    int lifted = 0;  // each scale is 2^lifted times the file's
  };
  // On the CPU equal scales are merged, so that a token reads fewer bytes, and on a GPU subnormal ones are
  // lifted where all rows are packed together; the numbers stay the same.
  Packed load_packed(Repacker& repacker, Layout layout, const RowsToPack& rows, uint32_t begin, uint32_t end,
                     uint32_t scale_every);
  static uint32_t rows_a_step(uint64_t row_bytes) {
    return static_cast<uint32_t>(std::max<uint64_t>(kStep / row_bytes / 128, 1) * 128);
  }
  void put(Buffer& to, uint64_t offset, std::span<const std::byte> bytes);
  // What has been copied out of a mapped file takes no memory of this process there until it is read again.
  void let_go(std::span<const std::byte> bytes) const;
  void count(uint64_t bytes) {
    done_ += bytes;
    report(done_);
  }
  void report(uint64_t done) const;

  const ModelFile& file_;
  const Config& c_;
  Backend& backend_;
  const I2sLayout layout_;
  const WeightHomes homes_;
  const GgufTensor* piece_ = nullptr;  // the first tensor of what is loaded now
  const std::function<bool(uint64_t, uint64_t)> on_progress_;
  std::map<uint32_t, BufferPtr> signs_;  // of rotations
  std::vector<std::byte> repacked_, ordered_;
  uint64_t done_ = 0;  // of the file's bytes; its directory counts as done at the end
};

}  // namespace bitnet
