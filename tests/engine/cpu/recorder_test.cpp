// Tests that a decoded token reads every weight once on the CPU.
#include "engine/cpu/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "engine/forward.h"
#include "engine/gguf.h"
#include "engine/kernel_options.h"
#include "engine/weights/loader.h"

namespace bitnet::cpu {
namespace {

// What counting_kernels() note of the weights that they are given.
struct Read {
  const std::byte* begin;
  size_t bytes;
};
struct Reads {
  std::vector<Read> ternary, head, shortlist;
} reads;
void note(std::vector<Read>& to, const void* begin, size_t bytes) {
  to.push_back({static_cast<const std::byte*>(begin), bytes});
}

const CpuKernels* counted;  // which do the work

CpuKernels counting_kernels() {
  CpuKernels k = *counted;
  k.ternary_rows = [](const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q,
                      uint32_t n_tokens, size_t stride, int32_t* sums) {
    note(reads.ternary, codes, size_t{n_in} / 4 * n_rows);
    counted->ternary_rows(codes, n_in, n_rows, q, n_tokens, stride, sums);
  };
  k.fives_rows = [](const uint8_t* codes, uint32_t n_in, uint32_t n_bands, const int8_t* q, uint32_t n_tokens,
                    size_t stride, int32_t* sums) {
    note(reads.ternary, codes, code_bytes(Layout::fives16, n_in) * kBandRows * n_bands);
    counted->fives_rows(codes, n_in, n_bands, q, n_tokens, stride, sums);
  };
  k.half_rows = [](const uint16_t* rows, uint32_t n, uint32_t n_rows, const float* y, float* out) {
    note(reads.head, rows, size_t{2} * n * n_rows);
    counted->half_rows(rows, n, n_rows, y, out);
  };
  k.int8_rows = [](const int8_t* rows, uint32_t n, uint32_t n_rows, const int16_t* const* p,
                   uint32_t n_vectors, int32_t* sums) {
    note(reads.shortlist, rows, size_t{n} * n_rows);
    counted->int8_rows(rows, n, n_rows, p, n_vectors, sums);
  };
  return k;
}

const CpuKernels* best_kernels() {
  const KernelChoices all = kernel_choices();
  return std::ranges::find_if(all, &KernelChoice::supported)->kernels;
}

// Returns how many bytes were read, and fails the test if a byte was read twice.
size_t bytes_read_once(std::vector<Read> all) {
  std::ranges::sort(all, std::less(), &Read::begin);
  size_t sum = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    sum += all[i].bytes;
    if (i > 0) {
      EXPECT_LE(all[i - 1].begin + all[i - 1].bytes, all[i].begin) << "read twice";
    }
  }
  return sum;
}

// With the reference kernels and those that are best here, which may want the codes in fives.
class Recording : public testing::TestWithParam<const CpuKernels*> {};
INSTANTIATE_TEST_SUITE_P(With, Recording, testing::Values(&kScalarKernels, best_kernels()),
                         [](const auto& info) { return info.index == 0 ? "Reference" : "Best"; });

TEST_P(Recording, ATokenReadsEveryWeightOnce) {
  counted = GetParam();
  const Checkpoint file(BITNET_TEST_MODEL);
  const ModelFile tensors = read_model(file, Activation::of_file);
  const Config& config = tensors.config;
  EngineOptions options;
  options.kernels = share({.cpu_kernels = counted->name});
  const auto backend = open_cpu(options);
  Placement placement;
  const Model model = load_model(tensors, *backend, I2sLayout::block128, {placement}, {});
  KvCache cache(*backend, model, 16, 1);
  Activations activations(*backend, model, 16, 1, 1);
  const BufferPtr logits = backend->allocate(config.n_vocab * sizeof(float), BufferUse::device);
  const BufferPtr result = backend->allocate(sizeof(ArgmaxResult) + sizeof(ChoiceResult), BufferUse::shared);
  const CpuKernels kernels = counting_kernels();
  const Shortlist shortlist(kernels, rows_of(model.head(), model.head().chunks[0]), config.n_vocab);
  shortlist.wait();

  size_t ternary_bytes = 0;
  for (const Block& b : model.blocks)
    for (const Matrix* w : {&b.attention.qkv, &b.attention.out, &b.ffn.gate_up, &b.ffn.down})
      ternary_bytes += w->rows() * code_bytes(w->in_fives ? Layout::fives16 : w->layout, w->n_in);
  const size_t head_bytes = size_t{2} * config.n_vocab * config.n_embd;

  for (const bool shortlisted : {false, true}) {
    const int32_t token = 5;
    const RunInput input{0, &token};
    CpuProgram program;
    constexpr unsigned kThreads = 2;
    CpuRecorder recorder(
        kernels, kThreads, input, [&](const Table&) { return shortlisted ? &shortlist : nullptr; }, program);
    record_blocks(recorder, model, activations, cache, 1);
    record_head(recorder, model, activations, 0, 1, {}, *logits, *result);
    reads = {};
    Scratch scratch(program.scratch_lines);
    for (const Step& step : program.steps) {
      if (step.prepare) step.prepare(scratch.data());
      for (uint32_t unit = 0; unit < step.units; ++unit) step.work({unit, unit + 1}, scratch.data());
    }
    EXPECT_EQ(bytes_read_once(reads.ternary), ternary_bytes);
    EXPECT_EQ(bytes_read_once(reads.shortlist), shortlisted ? head_bytes / 2 : 0);
    const size_t rows = bytes_read_once(reads.head);
    if (shortlisted) {
      EXPECT_LT(rows, head_bytes / 4);
    } else {
      EXPECT_EQ(rows, head_bytes);
    }
  }
}

}  // namespace
}  // namespace bitnet::cpu
