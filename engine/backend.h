// What a device must be able to do to run these models: hold memory, and record and run sequences of the
// kernels of the forward pass. vk/backend.cpp and cpu/backend.cpp implement it; weights/tensor_loader.cpp
// fills its buffers, and forward.cpp, kv_cache.cpp, snapshots.cpp and session.cpp use it.
//
// Thread rule: one thread at a time for everything that belongs to one Backend.
//
// Errors are Error(device), with the size asked for where memory is short. After a lost device every call
// throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/kernel_operands.h"
#include "engine/sampler.h"

namespace bitnet {

// Records one kernel a call. The kernels will run in that order, and each sees what those before it wrote. n
// is the number of tokens (rows) of the batch; `x` is the residual stream [n][n_embd] f32.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // x[t] = table[token t of the run] * scale + positions[position of t]
  virtual void embed(const Table& table, const EmbedExtra& extra, const Buffer& x, uint32_t n) = 0;
  // in.q = the input of w: in.x normed, and rounded as w.input says
  virtual void quantise(const Matrix& w, const In& in, uint32_t n) = 0;
  // out = W q. The rows of a gated product are half of w's.
  virtual void product(const Matrix& w, const Quantised& q, const Out& out, uint32_t n) = 0;
  // Prepares q in qkv [n][shape.row_heads()][head_dim] and rotates it; k prepared and rotated and v go to the
  // cache at the run's position. A cache has [rows][n_head_kv][head_dim] F16, and with a window position p in
  // row p % rows.
  virtual void rope_store_kv(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                             const Buffer& k_cache, const Buffer& v_cache, const AttentionShape& shape,
                             uint32_t n) = 0;
  // o = softmax(q k * scale) v, causal and within the window
  virtual void attention(const Buffer& qkv, const Buffer& k_cache, const Buffer& v_cache, const Buffer& o,
                         const AttentionShape& shape, uint32_t n) = 0;

  // y = H (signs * x), or signs * H x where it goes back, of n rows of n_features; y may be x. Neighbours are
  // added and subtracted first, then what is 2 apart, 4, ... so that the bits depend on no device or batch.
  enum class Turn { there, back };
  virtual void rotate(const Buffer& x, const Rotation& rotation, Turn turn, uint32_t n_features,
                      const Buffer& y, uint32_t n) = 0;

  // Two of these in one call, as the forward pass needs them, and the rotation that w wants. A backend may do
  // each call in one kernel, with the same bits.
  virtual void linear(const Matrix& w, const In& in, const Out& out, uint32_t n) {
    if (w.rotation && !in.is_turned) return linear(w, turned(w, in, n), out, n);
    quantise(w, in, n);
    product(w, in.q, out, n);
  }
  virtual void self_attention(const Buffer& qkv, const AttentionInput& input, const Buffer& rotation,
                              const Buffer& k_cache, const Buffer& v_cache, const AttentionScratch&,
                              const Buffer& o, const AttentionShape& shape, uint32_t n) {
    rope_store_kv(qkv, input, rotation, k_cache, v_cache, shape, n);
    attention(qkv, k_cache, v_cache, o, shape, n);
  }

  // A Gated DeltaNet over n tokens, one after the other, so that the bits do not depend on the batch.
  // qkvz has [n][channels + inner] f32, gates [n][2 n_head_v] f32: a of each head, then b. For each token
  //   q, k, v = silu(the convolution of each channel over its last n_conv inputs)
  //   q, k    = q / sqrt(sum q^2 + epsilon) / sqrt(head_dim), k / sqrt(sum k^2 + epsilon), a head each
  //   S      *= exp(softplus(a + time_bias) * decay)
  //   S      += k (sigmoid(b) * (v - S^T k))^T
  //   o       = norm(S^T q) * silu(z)
  // where epsilon is that of input.norm. `state` goes on to position + n; o has [n][inner] f32. Where `keep`
  // is not 0, `state` has that of position + keep too. Requires: n - keep is odd then.
  virtual void delta_net(const Buffer& qkvz, const Buffer& gates, const DeltaInput& input,
                         const DeltaState& state, const DeltaScratch& scratch, const Buffer& o,
                         const DeltaShape& shape, uint32_t n, uint32_t keep) = 0;
  // y *= 1 / (1 + exp(-gate))
  virtual void multiply_sigmoid(const Buffer& y, const Buffer& gate, uint32_t n_values) = 0;

  // Chooses the experts of n tokens by picked.logits.
  virtual void route(const Routing& routing, const Picked& picked, uint32_t n) = 0;
  // As linear, of a matrix of experts. With Out::gate the rows of `in` are tokens, and those of `out` pairs.
  // With Out::add the rows of `in` are pairs, and what those of a token give is multiplied by its weights,
  // summed in the order of ids and added to its row of `out`. The bits do not depend on the batch.
  virtual void linear_of_experts(const Matrix& w, const In& in, const Out& out, const Picked& picked,
                                 uint32_t n) = 0;

  // y = norm(x[first_row ..])
  virtual void norm(const Buffer& x, uint32_t first_row, const Norm& norm, uint32_t n_features,
                    const Buffer& y, uint32_t n) = 0;
  // x += norm(t), rows of n_features
  virtual void add_normed(const Buffer& t, const Norm& norm, uint32_t n_features, const Buffer& x,
                          uint32_t n) = 0;
  // g[t][i] *= by[t * by_stride + by_offset + i] for i < width
  virtual void multiply(const Buffer& g, const Buffer& by, uint32_t width, uint32_t by_stride,
                        uint32_t by_offset, uint32_t n) = 0;
  // projected = (norm(projected * projected_scale) + embedded * embedded_scale) / sqrt(2), both
  // [n][n_slices][width]; the norm is over each slice.
  virtual void combine_per_layer(const Buffer& projected, const Norm& norm, float projected_scale,
                                 const Buffer& embedded, float embedded_scale, uint32_t n_slices,
                                 uint32_t width, uint32_t n) = 0;
  // x *= factor
  virtual void scale(const Buffer& x, float factor, uint32_t n_values) = 0;
  // logits [rows][n_vocab] = softcap * tanh(logits / softcap), where softcap is not 0; then those of the ids
  // in `suppressed`, i32, become -inf. It may be null.
  virtual void finish_logits(const Buffer& logits, uint32_t n_vocab, float softcap, const Buffer* suppressed,
                             uint32_t n_suppressed, uint32_t rows) = 0;
  // logits [n][n_vocab] = table y, of a dense table
  virtual void head(const Table& table, const Buffer& y, const Buffer& logits, uint32_t n) = 0;
  // The head of n rows and the choices from its logits, where nobody looks at others than the largest, one of
  // each row or as many as sampling wants. The others may be approximations, which are smaller than these.
  virtual void head_and_choose(const Table& table, const HeadInput& in, const Buffer& logits,
                               const Choosing& choosing, uint32_t n) {
    head_input(in, table.n_embd, n);
    head(table, in.y, logits, n);
    choose_tokens(logits, table.n_vocab, choosing, n);
  }
  void head_input(const HeadInput& in, uint32_t n_embd, uint32_t n) {
    norm(in.x, in.first_row, in.norm, n_embd, in.y, n);
    if (in.rotation) rotate(in.y, in.rotation, Turn::there, n_embd, in.y, n);
  }
  void choose_tokens(const Buffer& logits, uint32_t n_vocab, const Choosing& c, uint32_t rows) {
    argmax(logits, n_vocab, c.partial, c.result, rows);
    if (c.sampling) sample(logits, n_vocab, c.partial, *c.sampling, c.result, rows);
  }
  // result [rows] = the largest of each row of logits; `partial` is scratch
  virtual void argmax(const Buffer& logits, uint32_t n_vocab, const Buffer& partial, const Buffer& result,
                      uint32_t rows) = 0;
  // Follows argmax on a device that runs ahead. `result` is ArgmaxResult [rows], then ChoiceResult [rows]. Of
  // one row the token that sampling chooses takes the place of the largest as the input of the next program,
  // and is added to the history. Of several, the first chooses for the position behind the run's, the others
  // for those that follow it.
  virtual void sample(const Buffer& /*logits*/, uint32_t /*n_vocab*/, const Buffer& /*partial*/,
                      const SamplingBuffers&, const Buffer& /*result*/, uint32_t /*rows*/) {}
  virtual void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset,
                    uint64_t bytes) = 0;

 protected:
  // The input of w, rotated. Products that follow each other and have one normed input share it.
  In turned(const Matrix& w, const In& in, uint32_t n) {
    static const Norm kNone;
    const Buffer& y = *in.q.turned;
    const void* const which = in.norm.weight.get();
    if (in.norm || in.first_row != 0) {
      if (which == nullptr || which != turned_ || &in.x != turned_x_ || in.first_row != 0) {
        norm(in.x, in.first_row, in.norm, w.n_in, y, n);
        rotate(y, w.rotation, Turn::there, w.n_in, y, n);
      }
    } else {
      rotate(in.x, w.rotation, Turn::there, w.n_in, y, n);
    }
    turned_ = in.first_row == 0 ? which : nullptr;
    turned_x_ = &in.x;
    return {y, kNone, in.q, 0, true};
  }

 private:
  const void* turned_ = nullptr;  // the weights of the norm behind which Quantised::turned was rotated
  const Buffer* turned_x_ = nullptr;
};
constexpr uint32_t kArgmaxPartials = 1024;  // ArgmaxResults that `partial` holds for each row

// A recorded sequence; holds on to nothing it names.
class Program {
 public:
  virtual ~Program() = default;
  virtual uint32_t dispatches() const { return 0; }  // of kernels on a device
};

class WeightReader;  // engine/weight_reader.h

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const DeviceInfo& device() const = 0;
  // The layout of ternary weights that have more than one scale: groups, groups16 or fives16.
  virtual Layout group_layout() const = 0;
  // The layout of quantised dense weights: blocks or blocks16.
  virtual Layout block_layout() const = 0;

  // From now on kernels are chosen that suit the shape of this model, and device().arithmetic says what that
  // changes. Before anything is recorded.
  virtual void suit(const ModelInfo&) {}

  virtual BufferPtr allocate(uint64_t bytes, BufferUse use) = 0;
  // From now on no more than that is allocated on the device in all; more is an Error(device).
  virtual void limit_memory(uint64_t /*bytes*/) {}
  // Copies bytes into a buffer of weights or device memory. It may return before they are there;
  // finish_uploads waits.
  virtual void upload(Buffer& to, uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void finish_uploads() = 0;
  // A buffer of weights that is these very bytes, which have to outlive it; nullptr where the device needs a
  // copy.
  virtual BufferPtr adopt(std::span<const std::byte>) { return nullptr; }
  // Where a run has computed exactly only the logits that may be largest (the CPU's shortlist), this gives
  // the n largest of a row, and maybe more, in the order of ids, with the values that download would give. It
  // costs next to nothing. It returns false where all logits are known or n is too many; then download them.
  virtual bool largest_logits(Buffer& /*logits*/, uint32_t /*row*/, uint32_t /*n*/,
                              std::vector<TokenLogit>&) {
    return false;
  }
  virtual void download(const Buffer& from, uint64_t offset, std::span<std::byte> bytes) = 0;

  // Some bytes of a buffer of host_weights, as a buffer.
  virtual BufferPtr part_of(const BufferPtr& /*whole*/, uint64_t /*offset*/, uint64_t /*bytes*/) {
    return nullptr;
  }
  // From now on this is asked for matrices of which Matrix::in_file is a piece. It outlives the programs.
  virtual void read_weights_with(WeightReader&) {}
  // How fast the link is, by which the way is chosen that weights in host memory take. Before make_slots.
  virtual void choose_way(const ReadSpeeds&) {}
  // Matrix::addresses of a matrix of experts that has been loaded.
  virtual BufferPtr addresses_of(const Matrix&) { return nullptr; }
  // From now on a matrix of experts in host memory for which addresses_of is called gets places on the device
  // for copies of so many of them.
  virtual void make_expert_places(uint32_t /*n*/) {}
  virtual ExpertReads expert_reads() const { return {}; }  // as of Engine

  // From now on the device may keep a copy of the head in 8 bits (MemoryPlan::head_copy).
  virtual void allow_head_copy() {}
  // Whether head_and_choose leaves all logits, as download and copy see them.
  virtual bool knows_all_logits(const Table& /*head*/) { return true; }

  // Allocates kWeightSlots times so much on the device, through which matrices of host_weights of up to so
  // many bytes go to the kernels. Others are read where they lie.
  virtual void make_slots(uint64_t /*bytes*/) {}
  // Whether ternary codes in host memory are to have Layout::fives16 (Matrix::in_fives).
  virtual bool host_has_fives() const { return false; }

  virtual double seconds_compiling() const { return 0; }  // that kernels took so far which were not ready
  virtual std::unique_ptr<Program> record(const std::function<void(Recorder&)>& kernels) = 0;
  virtual double read_bandwidth() { return 0; }  // as of Engine
  // Runs a program on tokens at `position` of the timeline and waits for its end. Where weights come from the
  // file, this and start and start_next may throw what WeightReader::take throws; then the program has ended
  // in its middle.
  virtual void run(Program& program, uint32_t position, std::span<const int32_t> tokens) = 0;

  // A device that works on its own can be given the next token's program before it has finished this one's.
  // Where runs_ahead is true, a program of record_next reads the token that the program before it chose by
  // argmax or sampling, at the position behind it; start and start_next return at once. Requires: a program
  // is waited for before it is started again, and all are before anything else is called.
  virtual bool runs_ahead() const { return false; }
  virtual std::unique_ptr<Program> record_next(const std::function<void(Recorder&)>&) { return nullptr; }
  virtual void start(Program&, uint32_t, std::span<const int32_t>) {}
  virtual void start_next(Program&) {}
  virtual void wait(Program&) {}
};
// HeadShortlist::where_large: whether a shortlist of a dense head is made, which takes a byte a value.
inline bool shortlist_pays(uint64_t n_vocab, uint64_t n_embd) { return n_vocab * n_embd >= 8 << 20; }
constexpr uint32_t kMaxBatch = 1024;   // tokens of one run
constexpr uint32_t kMaxLogitRows = 8;  // tokens whose logits are held at once
constexpr uint32_t kRunAhead = 2;      // tokens on their way at once, where a device runs ahead

std::unique_ptr<Backend> open_vulkan(const EngineOptions& options);
std::unique_ptr<Backend> open_cpu(const EngineOptions& options);
DeviceInfo find_vulkan(const EngineOptions& options);  // throws where open_vulkan would not find its device
ReadSpeeds vulkan_speeds(const EngineOptions& options);
ReadSpeeds cpu_speeds(const EngineOptions& options);
std::vector<DeviceInfo> list_vulkan_devices();  // empty where there is no loader or no device
std::shared_ptr<void> hold_vulkan();  // while held, listing and opening share what both need of the loader
DeviceInfo describe_cpu(const EngineOptions& options);

}  // namespace bitnet
