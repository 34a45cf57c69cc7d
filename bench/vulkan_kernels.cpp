// Measures the time of every kernel on its own, in the shapes of BitNet b1.58 2B4T, also for dense types, and
// for matrices of groups in those of a model of 8B and, with inputs of 16 bits, of 27B, and prints it as CSV:
//   kernel,tokens,depth,us,GB/s,% of copy
// The last column compares it with what a kernel that only copies reads and writes. Each kernel is recorded
// once for every layer, so that its weights are not in a cache, as in a real token. The barrier at which the
// next kernel waits is part of its time. The figure is the best of several submissions, less an empty one.
//
//   vulkan_kernels [--device NAME] [--tokens N] [--only WHICH]    N > 1: the kernels of prefill
// WHICH is one of ternary, groups, groups16, dense, attention, delta and head.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "bench/copy_speed.h"
#include "engine/backend.h"
#include "engine/gguf.h"
#include "engine/layouts/file_types.h"
#include "engine/layouts/pack_blocks.h"

namespace bitnet {
namespace {

constexpr uint32_t kEmbd = 2560, kFf = 6912, kLayers = 30, kVocab = 128256, kContext = 4096;
constexpr AttentionShape kHeads{20, 5, 128, 128};
constexpr float kEpsilon = 1e-5F;

class Bench {
 public:
  Bench(const std::string& device, uint32_t tokens, std::string only) : n_(tokens), only_(std::move(only)) {
    EngineOptions options;
    options.device = device;
    copy_speed_ = measure_copy_speed(options);
    backend_ = open_vulkan(options);
  }

  void run() {
    fmt::print("# {}, {}\nkernel,tokens,depth,us,GB/s,% of copy\n", backend_->device().name,
               backend_->device().driver);
    empty_ = seconds([](Recorder&) {}, 0);
    fmt::print("copy,,,,{:.0f},100\n", copy_speed_);
    if (wanted("ternary")) ternary_kernels();
    if (wanted("groups")) groups_kernels();
    if (wanted("groups16")) groups16_kernels();
    for (const TensorType type : {TensorType::q8_0, TensorType::q4_0, TensorType::q5_0, TensorType::q4_k,
                                  TensorType::q6_k, TensorType::f16})
      if (wanted("dense")) dense_kernels(type);
    if (wanted("attention")) {
      attention_kernels("attention", kHeads);
      attention_kernels("attention_qwen35", {24, 4, 256, 64});
      attention_kernels("attention_gemma_local", {8, 1, 256, 256, 1, 512});
      attention_kernels("attention_gemma_global", {8, 1, 512, 512, 1});
    }
    if (wanted("delta")) delta_kernels({16, 48, 128, 4});
    if (n_ == 1 && wanted("head")) head_kernels();
  }

 private:
  bool wanted(const char* kernels) const { return only_.empty() || only_ == kernels; }

  BufferPtr filled(uint64_t bytes) {
    static const std::vector<std::byte> noise = [] {
      std::vector<std::byte> some(1 << 20);
      std::mt19937 rng(1);
      for (std::byte& b : some) b = static_cast<std::byte>(rng() & 0x15);  // codes 0 and 1; small F16
      return some;
    }();
    BufferPtr buffer = backend_->allocate(bytes, BufferUse::device);
    for (uint64_t at = 0; at < bytes; at += noise.size())
      backend_->upload(*buffer, at, std::span(noise).first(std::min<uint64_t>(noise.size(), bytes - at)));
    backend_->finish_uploads();
    return buffer;
  }

  BufferPtr floats(uint64_t count) { return filled(count * sizeof(float)); }

  double seconds(const std::function<void(Recorder&)>& kernels, uint32_t depth) {
    using Clock = std::chrono::steady_clock;
    const auto program = backend_->record(kernels);
    const std::vector<int32_t> tokens(n_, 1);
    const auto begin = Clock::now();
    double best = 1e9;
    for (int i = 0; i < 3 || Clock::now() - begin < std::chrono::milliseconds(100);
         ++i) {  // clocks need time to rise
      const auto start = Clock::now();
      backend_->run(*program, depth, tokens);
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
  }

  // `once` records the kernel for one layer; `bytes` is what it has to read from memory.
  void measure(const char* name, uint64_t bytes, const std::function<void(Recorder&, uint32_t layer)>& once,
               uint32_t depth = 0, uint32_t count = kLayers) {
    const double all = seconds(
        [&](Recorder& r) {
          for (uint32_t i = 0; i < count; ++i) once(r, i);
        },
        depth);
    const double us = std::max(0.0, all - empty_) / count * 1e6,
                 speed = static_cast<double>(bytes) / us / 1e3;
    fmt::print("{},{},{},{:.2f},{:.0f},{:.0f}\n", name, n_, depth, us, speed, 100 * speed / copy_speed_);
    std::fflush(stdout);
  }

  struct LayerMatrices {
    std::vector<Matrix> layers;
    uint64_t bytes;
  };
  LayerMatrices matrices_of_layers(uint32_t n_in, std::vector<Matrix::Part> parts) {
    LayerMatrices l{std::vector<Matrix>(kLayers), 0};
    for (Matrix& m : l.layers) {
      m.n_in = n_in;
      std::copy(parts.begin(), parts.end(), m.parts.begin());
      l.bytes = uint64_t{m.rows()} * n_in / 4;
      m.codes = filled(l.bytes);
    }
    return l;
  }

  void ternary_kernels() {
    const uint32_t q = kHeads.n_head * kHeads.head_dim, kv = kHeads.n_head_kv * kHeads.head_dim;
    const LayerMatrices qkv = matrices_of_layers(kEmbd, {{q, 1}, {kv, 1}, {kv, 1}}),
                        out = matrices_of_layers(q, {{kEmbd, 1}}),
                        gate_up = matrices_of_layers(kEmbd, {{kFf, 1}, {kFf, 1}}),
                        down = matrices_of_layers(kFf, {{kEmbd, 1}});
    const BufferPtr x = floats(uint64_t{n_} * kFf), y = floats(uint64_t{n_} * 2 * kFf);
    const Norm norm = rms_of(floats(kFf), kEpsilon);
    const Quantised quantised{filled(uint64_t{n_} * kFf), filled(n_ * 8), nullptr};
    const In in{*x, norm, quantised};
    for (const uint32_t n : {kEmbd, kFf}) {
      Matrix shape;
      shape.n_in = n;
      measure(fmt::format("norm_quantise_{}", n).c_str(), uint64_t{n_} * n * 4,
              [&](Recorder& r, uint32_t) { r.quantise(shape, in, n_); });
    }
    measure("qkv", qkv.bytes,
            [&](Recorder& r, uint32_t i) { r.product(qkv.layers[i], quantised, store(*y), n_); });
    measure("attn_output", out.bytes,
            [&](Recorder& r, uint32_t i) { r.product(out.layers[i], quantised, add(*y), n_); });
    measure("gate_up", gate_up.bytes, [&](Recorder& r, uint32_t i) {
      r.product(gate_up.layers[i], quantised, gate(*y, Act::relu2), n_);
    });
    measure("down", down.bytes,
            [&](Recorder& r, uint32_t i) { r.product(down.layers[i], quantised, add(*y), n_); });
    measure("linear_qkv", qkv.bytes,
            [&](Recorder& r, uint32_t i) { r.linear(qkv.layers[i], in, store(*y), n_); });
    measure("linear_output", out.bytes,
            [&](Recorder& r, uint32_t i) { r.linear(out.layers[i], in, add(*y), n_); });
    measure("linear_gate_up", gate_up.bytes,
            [&](Recorder& r, uint32_t i) { r.linear(gate_up.layers[i], in, gate(*y, Act::relu2), n_); });
    measure("linear_down", down.bytes,
            [&](Recorder& r, uint32_t i) { r.linear(down.layers[i], in, add(*y), n_); });
  }

  // A scale every 128 inputs, which are rounded by units; a model of 8B has these lengths.
  std::vector<Matrix> groups_of_layers(uint32_t n_in, std::vector<uint32_t> rows) {
    std::vector<Matrix> layers(kLayers);
    for (Matrix& m : layers) {
      m.n_in = n_in;
      m.layout = Layout::groups;
      m.input = Input::int8_units;
      m.scale_every = 128;
      m.fixed = 1;
      for (size_t i = 0; i < rows.size(); ++i) m.parts[i] = {rows[i], 1};
      m.codes = filled(uint64_t{m.rows()} * n_in / 4);
      m.scales = filled(uint64_t{m.rows()} * n_in / 128 * 2);
    }
    return layers;
  }

  void groups_kernels() {
    constexpr uint32_t kWide = 4096, kWider = 12288;
    const auto square = groups_of_layers(kWide, {kWide}), gate_up = groups_of_layers(kWide, {kWider, kWider}),
               down = groups_of_layers(kWider, {kWide});
    const auto bytes = [](const Matrix& m) { return uint64_t{m.rows()} * (m.n_in / 4 + m.n_in / 64); };
    const BufferPtr x = floats(uint64_t{n_} * kWide), h = floats(uint64_t{n_} * kWider),
                    o = floats(uint64_t{n_} * kWide);
    const Norm norm = rms_of(floats(kWide), kEpsilon), none;
    const Quantised q{filled(uint64_t{n_} * kWider),
                      filled(n_ * 8),
                      filled(uint64_t{n_} * kWider / 16),
                      nullptr,
                      nullptr,
                      filled(uint64_t{n_} * kWider / 16)};
    const auto measure_one = [&](const char* name, const std::vector<Matrix>& w, const In& in,
                                 const Out& out) {
      measure(fmt::format("groups_{}", name).c_str(), bytes(w[0]),
              [&](Recorder& r, uint32_t i) { r.product(w[i], q, out, n_); });
      measure(fmt::format("groups_linear_{}", name).c_str(), bytes(w[0]),
              [&](Recorder& r, uint32_t i) { r.linear(w[i], in, out, n_); });
    };
    for (const auto& [w, in] : {std::pair{&square[0], In{*x, norm, q}}, {&down[0], In{*h, none, q}}})
      measure(fmt::format("groups_quantise_{}", w->n_in).c_str(), uint64_t{n_} * w->n_in * 4,
              [&, w = w, in = in](Recorder& r, uint32_t) { r.quantise(*w, in, n_); });
    measure_one("4096x4096", square, {*x, norm, q}, store(*o));
    measure_one("4096x12288_gated", gate_up, {*x, norm, q}, gate(*h, Act::silu));
    measure_one("12288x4096", down, {*h, none, q}, add(*x));
    // The products of a layer but for those of k and v, which are a chain where n is 1.
    measure("groups_layer", 2 * bytes(square[0]) + bytes(gate_up[0]) + bytes(down[0]),
            [&](Recorder& r, uint32_t i) {
              r.linear(square[i], {*x, norm, q}, store(*o), n_);
              r.linear(square[i], {*o, none, q}, add(*x), n_);
              r.linear(gate_up[i], {*x, norm, q}, gate(*h, Act::silu), n_);
              r.linear(down[i], {*h, none, q}, add(*x), n_);
            });
  }

  // The same of a model of 27B whose inputs are rounded to 16 bits. A gated product reads two tensors.
  void groups16_kernels() {
    constexpr uint32_t kWide = 5120, kWider = 17408, kInner = 6144;
    const auto of_16_bits = [&](uint32_t n_in, std::vector<uint32_t> rows) {
      std::vector<Matrix> layers = groups_of_layers(n_in, std::move(rows));
      for (Matrix& m : layers) m.input = Input::int16_units;
      return layers;
    };
    Quantised q{filled(uint64_t{n_} * kWider),
                filled(n_ * 8),
                filled(uint64_t{n_} * kWider / 16),
                nullptr,
                nullptr,
                filled(uint64_t{n_} * kWider / 16)};
    q.rest_q = filled(uint64_t{n_} * kWider);
    const BufferPtr y = floats(uint64_t{n_} * kWider);
    const auto measure_one = [&](const char* name, const std::vector<Matrix>& w, const Out& out) {
      measure(fmt::format("groups16_{}", name).c_str(),
              uint64_t{w[0].rows()} * (w[0].n_in / 4 + w[0].n_in / 64),
              [&](Recorder& r, uint32_t i) { r.product(w[i], q, out, n_); });
    };
    measure_one("5120x17408_gated", of_16_bits(kWide, {kWider, kWider}), gate(*y, Act::silu));
    measure_one("17408x5120", of_16_bits(kWider, {kWide}), add(*y));
    measure_one("6144x5120", of_16_bits(kInner, {kWide}), add(*y));
    measure_one("5120x16384", of_16_bits(kWide, {16384}), store(*y));
  }

  LayerMatrices dense_layers(TensorType type, uint32_t n_in, std::vector<uint32_t> rows) {
    const bool blocks = find_block_type(type) != nullptr;
    const BlockRowBytes row =
        blocks ? block_row_bytes(type, n_in) : BlockRowBytes{find_file_type(type)->row_bytes(n_in), 4};
    LayerMatrices l{std::vector<Matrix>(kLayers), 0};
    for (Matrix& m : l.layers) {
      m.n_in = n_in;
      m.layout = blocks ? Layout::blocks : Layout::floats;
      m.input = blocks ? Input::int8_units : Input::float_row;
      for (size_t i = 0; i < rows.size(); ++i)
        m.parts[i] = {rows[i], 1, type, 1, filled(rows[i] * row.codes), filled(rows[i] * row.scales)};
      l.bytes = m.rows() * (row.codes + (blocks ? row.scales : 0));
    }
    return l;
  }

  void dense_kernels(TensorType type) {
    const uint32_t q = kHeads.n_head * kHeads.head_dim, kv = kHeads.n_head_kv * kHeads.head_dim;
    const LayerMatrices qkv = dense_layers(type, kEmbd, {q, kv, kv}), out = dense_layers(type, q, {kEmbd}),
                        gate_up = dense_layers(type, kEmbd, {kFf, kFf}),
                        down = dense_layers(type, kFf, {kEmbd});
    const BufferPtr x = floats(uint64_t{n_} * kEmbd), o = floats(uint64_t{n_} * (q + 2 * kv)),
                    h = floats(uint64_t{n_} * kFf);
    const Norm norm = rms_of(floats(kEmbd), kEpsilon), none;
    const Quantised quantised{filled(uint64_t{n_} * kFf),
                              filled(n_ * 8),
                              nullptr,
                              filled(uint64_t{n_} * kFf / 4),
                              floats(uint64_t{n_} * kFf),
                              filled(uint64_t{n_} * kFf / 8)};
    const auto measure_one = [&](const char* name, const LayerMatrices& w, const Out& to) {
      measure(fmt::format("{}_{}", shown_name(type), name).c_str(), w.bytes,
              [&](Recorder& r, uint32_t i) { r.product(w.layers[i], quantised, to, n_); });
    };
    measure_one("qkv", qkv, store(*o));
    measure_one("attn_output", out, add(*x));
    measure_one("gate_up", gate_up, gate(*h, Act::silu));
    measure_one("down", down, add(*x));
    // The products of a layer, which are a chain where n is 1.
    measure(fmt::format("{}_layer", shown_name(type)).c_str(),
            qkv.bytes + out.bytes + gate_up.bytes + down.bytes, [&](Recorder& r, uint32_t i) {
              r.linear(qkv.layers[i], {*x, norm, quantised}, store(*o), n_);
              r.linear(out.layers[i], {*o, none, quantised}, add(*x), n_);
              r.linear(gate_up.layers[i], {*x, norm, quantised}, gate(*h, Act::silu), n_);
              r.linear(down.layers[i], {*h, none, quantised}, add(*x), n_);
            });
  }

  void attention_kernels(const char* name, const AttentionShape& s) {
    const uint64_t row = uint64_t{s.n_head_kv} * s.head_dim * 2;
    std::vector<BufferPtr> k, v;
    for (uint32_t i = 0; i < kLayers; ++i) {
      k.push_back(filled(kContext * row));
      v.push_back(filled(kContext * row));
    }
    const BufferPtr qkv = floats(uint64_t{n_} * s.row_heads() * s.head_dim),
                    o = floats(uint64_t{n_} * s.n_head * s.head_dim),
                    rotation = floats(uint64_t{kContext} * s.rope_dim);
    const uint64_t chunks = kContext / kAttentionChunk;
    const AttentionScratch scratch{floats(s.n_head * chunks * (2 + s.head_dim))};
    for (const uint32_t depth : {0U, 128U, 256U, 512U, 1024U, 2048U, 4095U}) {
      if (depth + n_ > kContext) continue;
      const uint32_t n_keys = s.window == 0 ? depth + n_ : std::min(depth + n_, s.window + n_ - 1);
      measure(
          name, 2 * n_keys * row,
          [&](Recorder& r, uint32_t i) {
            r.self_attention(*qkv, {}, *rotation, *k[i], *v[i], scratch, *o, s, n_);
          },
          depth);
    }
  }

  // A Gated DeltaNet, whose bytes are those of its memory, and the product of floats that makes its gates.
  void delta_kernels(const DeltaShape& s) {
    constexpr uint32_t kInputs = 5120;  // of the gates
    const uint64_t memory = uint64_t{s.n_head_v} * s.head_dim * s.head_dim, n = n_;
    std::vector<DeltaState> states;
    for (uint32_t i = 0; i < kLayers; ++i)
      states.push_back({floats(2 * uint64_t{s.n_conv - 1} * s.channels()), floats(2 * memory)});
    const DeltaInput input{floats(uint64_t{s.channels()} * s.n_conv), floats(s.n_head_v), floats(s.n_head_v),
                           rms_of(floats(s.head_dim), kEpsilon)};
    const BufferPtr qkvz = floats(n * (s.channels() + s.inner())), gates = floats(n * 2 * s.n_head_v),
                    o = floats(n * s.inner()), x = floats(n * kInputs);
    const DeltaScratch scratch{floats(n * s.channels()), floats(n * 2 * s.n_head_v)};
    measure("delta_net", 8 * memory, [&](Recorder& r, uint32_t i) {
      r.delta_net(*qkvz, *gates, input, states[i], scratch, *o, s, n_, 0);
    });
    Matrix w;
    w.n_in = kInputs;
    w.layout = Layout::floats;
    w.input = Input::float_row;
    for (uint32_t part = 0; part < 2; ++part)
      w.parts[part] = {s.n_head_v, 1, TensorType::bf16, 0, filled(uint64_t{s.n_head_v} * kInputs * 2),
                       nullptr};
    const Norm norm = rms_of(floats(kInputs), kEpsilon);
    const Quantised none;
    measure("delta_net_and_gates", 8 * memory + uint64_t{4} * s.n_head_v * kInputs,
            [&](Recorder& r, uint32_t i) {
              r.linear(w, {*x, norm, none}, store(*gates), n_);
              r.delta_net(*qkvz, *gates, input, states[i], scratch, *o, s, n_, 0);
            });
  }

  Table table_of(TensorType type, uint32_t n_embd) {
    Table table;
    table.n_vocab = kVocab;
    table.n_embd = n_embd;
    table.type = type;
    const uint64_t row_bytes = find_file_type(type)->row_bytes(n_embd);
    const auto most =
        static_cast<uint32_t>(std::min<uint64_t>(kVocab, backend_->device().max_buffer_bytes / row_bytes));
    for (uint32_t at = 0; at < kVocab; at += most) {
      const uint32_t rows = std::min(most, kVocab - at);
      table.chunks.push_back({at, rows, filled(rows * row_bytes), nullptr});
    }
    return table;
  }

  void head_kernels() {
    const Table table = table_of(TensorType::f16, kEmbd);
    const BufferPtr x = floats(kEmbd), y = floats(kEmbd), logits = floats(kVocab),
                    partials = filled(kArgmaxPartials * sizeof(ArgmaxResult)),
                    result = filled(sizeof(ArgmaxResult));
    const Norm norm = rms_of(floats(kEmbd), kEpsilon);
    const uint64_t bytes = uint64_t{kVocab} * kEmbd * 2;
    measure("embed", kEmbd * 2, [&](Recorder& r, uint32_t) { r.embed(table, {}, *x, 1); });
    measure("rms_norm", kEmbd * 4, [&](Recorder& r, uint32_t) { r.norm(*x, 0, norm, kEmbd, *y, 1); });
    measure(
        "head", bytes, [&](Recorder& r, uint32_t) { r.head(table, *y, *logits, 1); }, 0, 8);
    measure("argmax", kVocab * 4,
            [&](Recorder& r, uint32_t) { r.argmax(*logits, kVocab, *partials, *result, 1); });
    constexpr uint32_t kWide = 4096;
    const BufferPtr wide = floats(kWide);
    for (const TensorType type : {TensorType::f16, TensorType::q8_0, TensorType::q6_k, TensorType::q4_k}) {
      const Table other = table_of(type, kWide);
      measure(
          fmt::format("head_{}_{}", name_of(type), kWide).c_str(),
          kVocab * find_file_type(type)->row_bytes(kWide),
          [&](Recorder& r, uint32_t) { r.head(other, *wide, *logits, 1); }, 0, 8);
    }
  }

  std::unique_ptr<Backend> backend_;
  const uint32_t n_;
  const std::string only_;
  double empty_ = 0;
  double copy_speed_;  // GB/s, read and written
};

}  // namespace
}  // namespace bitnet

int main(int argc, char** argv) {
  std::string device, only;
  uint32_t tokens = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--device") == 0) device = argv[i + 1];
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
    if (std::strcmp(argv[i], "--tokens") == 0) tokens = static_cast<uint32_t>(std::stoul(argv[i + 1]));
  }
  try {
    bitnet::Bench(device, tokens, only).run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "vulkan_kernels: {}\n", error.what());
    return 1;
  }
}
