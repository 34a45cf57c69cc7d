// Records the kernels of a program as steps for the threads.
//
// Thread rule: as the Backend.
#pragma once

#include <algorithm>
#include <functional>

#include "engine/backend.h"
#include "kernels.h"
#include "memory.h"
#include "shortlist.h"
#include "table_rows.h"
#include "thread_pool.h"

namespace bitnet::cpu {

class CpuProgram;

struct ShortlistedHead;
class MadeUnits;
class Rounding;
struct RowsDone;

// Logits of which only the largest are those of the full head. The others need a run of head->full, while the
// vector from which they come is still there.
struct Unfinished {
  std::shared_ptr<ShortlistedHead> head;
};

// A part of host memory, or of the mapped file, which is read-only and outlives the buffer.
class CpuBuffer : public Buffer {
 public:
  CpuBuffer(std::shared_ptr<const Memory> memory, std::span<std::byte> part)
      : memory_(std::move(memory)), data_(part.data()), size_(part.size()) {}
  CpuBuffer(const CpuBuffer& whole, uint64_t offset, uint64_t bytes)
      : memory_(whole.memory_), data_(whole.data_ + offset), size_(bytes) {}
  explicit CpuBuffer(std::span<const std::byte> in_file)
      : data_(const_cast<std::byte*>(in_file.data())), size_(in_file.size()) {}

  uint64_t size() const override { return size_; }
  std::span<std::byte> mapped() const override {
    return memory_ ? std::span(data_, size_) : std::span<std::byte>();
  }
  std::byte* data() const { return data_; }

  mutable std::shared_ptr<Unfinished> unfinished;  // null where the buffer holds what it should

 private:
  std::shared_ptr<const Memory> memory_;  // null in the file
  std::byte* data_;
  uint64_t size_;
};

inline CpuBuffer& cpu_buffer(Buffer& b) { return static_cast<CpuBuffer&>(b); }
inline const CpuBuffer& cpu_buffer(const Buffer& b) { return static_cast<const CpuBuffer&>(b); }
template <typename T>
T* data_of(const Buffer& b) {
  return reinterpret_cast<T*>(cpu_buffer(b).data());
}

inline uint32_t ceil_div(uint64_t a, uint64_t b) { return static_cast<uint32_t>((a + b - 1) / b); }

TableRows rows_of(const Table& table, const Table::Chunk& chunk);  // of a dense table

// The head of a few tokens, for which there may be a shortlist.
struct ShortlistedHead {
  const CpuBuffer* logits;  // [tokens][rows]
  const Buffer* vectors;
  std::shared_ptr<CpuProgram> full;
  // Computes from the table the rows that may reach the border of `token`.
  std::shared_ptr<CpuProgram> rescore;
  bool wanted_whole = false;     // the program itself reads all logits
  bool was_shortlisted = false;  // in the last run
  uint32_t token = 0;
  struct Token {
    std::vector<Shortlist::Bounds> bounds;  // [units]: the best lower bound of the rows, and the best upper
    float border = 0;                       // as many logits as are wanted are at least this large
  };
  std::vector<Token> tokens;
  std::vector<ShortlistVector> ys;  // [tokens]
  uint32_t rows = 0, rows_a_unit = 0;
};

class CpuProgram : public Program {
 public:
  std::vector<Step> steps;
  size_t scratch_lines = 0;
  std::vector<std::shared_ptr<ShortlistedHead>> shortlisted;
  std::vector<const Buffer*> norms;  // that norm writes
  struct FromFile {
    size_t first, end;  // steps that read the weights
    uint32_t piece;     // of the WeightReader
  };
  std::vector<FromFile> from_file;
};

// The arguments of Backend::run. They lie in the backend, where the steps read them.
struct RunInput {
  uint32_t position = 0;
  const int32_t* tokens = nullptr;
};

// Gives the shortlist of a table, or null where there is none.
using FindShortlist = std::function<const Shortlist*(const Table&)>;

class CpuRecorder : public Recorder {
 public:
  CpuRecorder(const CpuKernels& kernels, unsigned threads, const RunInput& input, FindShortlist shortlists,
              CpuProgram& program)
      : k_(kernels),
        threads_(threads),
        input_(input),
        shortlists_(std::move(shortlists)),
        program_(program) {}

  void embed(const Table& table, const EmbedExtra& extra, const Buffer& x, uint32_t n) override;
  void quantise(const Matrix& w, const In& in, uint32_t n) override;
  void product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) override;
  // The inputs of one token, or of few, are rounded by each thread for itself in the step of the product.
  // That takes less time than it takes all threads to wait for one and to fetch what it wrote.
  void linear(const Matrix& w, const In& in, const Out& out, uint32_t n) override;
  void route(const Routing& routing, const Picked& picked, uint32_t n) override;
  void linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& picked,
                         uint32_t n) override;
  void rope_store_kv(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                     const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                     uint32_t n) override;
  // For such tokens, whoever makes the last rows of a head of q, k or v also does what rope_store_kv does.
  void self_attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                      const Buffer& k_cache, const Buffer& v_cache, const AttentionScratch& scratch,
                      const Buffer& o, const AttentionShape& shape, uint32_t n) override;
  void attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache, const Buffer& o,
                 const AttentionShape& shape, uint32_t n) override;
  void delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& input, const DeltaState& state,
                 const DeltaScratch& scratch, const Buffer& o, const DeltaShape& shape, uint32_t n,
                 uint32_t keep) override;
  void multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) override;
  void norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features, const Buffer& y,
            uint32_t n) override;
  void rotate(const Buffer& x, const Rotation& rotation, Turn turn, uint32_t n_features, const Buffer& y,
              uint32_t n) override;
  void add_normed(const Buffer& t, const Norm& norm, uint32_t n_features, const Buffer& x,
                  uint32_t n) override;
  void multiply(const Buffer& g, const Buffer& by, uint32_t width, uint32_t by_stride, uint32_t by_offset,
                uint32_t n) override;
  void combine_per_layer(const Buffer& projected, const Norm& norm, float projected_scale,
                         const Buffer& embedded, float embedded_scale, uint32_t n_slices, uint32_t width,
                         uint32_t n) override;
  void scale(const Buffer& x, float factor, uint32_t n_values) override;
  void finish_logits(const Buffer& logits, uint32_t n_vocab, float softcap, const Buffer* suppressed,
                     uint32_t n_suppressed, uint32_t rows) override;
  void head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) override;
  void argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial, const Buffer& result,
              uint32_t rows) override;
  void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
            uint64_t bytes) override;

 private:
  template <typename Work>
  void step(uint32_t units, Work work, size_t scratch_bytes = 0) {
    add_step({units, each(std::move(work))}, scratch_bytes);
  }
  void add_step(Step step, size_t scratch_bytes);
  // Says what the step that was recorded last reads: of_rows(first, end) are the weights of some of its
  // `rows`, of which a unit takes `at_once`.
  template <typename OfRows>
  void reads(uint32_t rows, uint32_t at_once, OfRows of_rows) {
    Step& step = program_.steps.back();
    for (unsigned thread = 0; thread < threads_; ++thread) {
      const UnitRange units = share_of(step.units, thread, threads_);
      step.weights.push_back(of_rows(units.begin * at_once, std::min(rows, units.end * at_once)));
    }
  }
  bool are_few(const Matrix& w, uint32_t n) const;
  void multiply(const Matrix& w, const Quantised& q, const Out& out, uint32_t n);
  void quantise_by_expert(const Matrix& w, const In& in, const Picked& picked, uint32_t n);
  void sum_of_experts(const Buffer& x, uint32_t n_features, const Picked& picked, uint32_t n);
  void gated_product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n);
  void dense_product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n);
  void full_head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n);
  void shortlisted_head(const Table& table, const Shortlist& shortlist, const Buffer& y, const Buffer& logits,
                        uint32_t n);
  uint32_t rows_a_unit(uint32_t rows, uint64_t row_bytes, uint32_t multiple = 8,
                       uint64_t most_bytes = 24 << 10) const;

  const CpuKernels& k_;
  const unsigned threads_;
  const RunInput& input_;
  const FindShortlist shortlists_;
  CpuProgram& program_;
  std::shared_ptr<const Rounding> own_;  // which the product that is being recorded does in its step
  std::shared_ptr<RowsDone> rows_done_;  // of the product or attention of one token that was recorded last
  const Buffer* made_last_ = nullptr;    // by that product, and nothing was recorded since
  // Inputs that were made in units: the last ones, and those before
  std::array<std::shared_ptr<MadeUnits>, 2> made_units_;
};

}  // namespace bitnet::cpu
