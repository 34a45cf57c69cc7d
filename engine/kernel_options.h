// Which kernels are used, and how much memory for what, for tests and measurements: without these options the
// engine chooses what is best.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace bitnet {

// Which build of the kernels that multiply int8 is used; the results are the same. `always` is the integer
// dot product, and `matrix` also multiplies matrices for batches; both need a device that has them.
enum class IntegerDot { where_fast, always, never, matrix };

// Whether a GPU computes the blocks of a token in one dispatch, whose workgroups wait for each other's
// results (shaders/decode.comp); the final results are the same. `where_safe` tries the device first.
// `always` is not for software devices, on which a workgroup may give up waiting. Where one did, no chain
// follows (vk/stuck_chains.h); `fails` is as if it did in the first chain.
enum class ChainedDecode { where_safe, always, never, fails };

// Whether a device keeps a copy of the LM head in 8 bits to find the largest logits with (cpu/shortlist.h,
// vk/shortlist.h); the results are the same. With `always` the CPU also waits until the copy is there.
enum class HeadShortlist { where_large, always, never };

// How a GPU comes by weights that lie in the host's memory: kernels read them there, or they are copied to
// the device, a matrix at a time, in front of the product that needs them (vk/stream.h); the results are the
// same. `in_batches` copies them for batches, which would read them several times. `fives` also keeps ternary
// ones in 1.6 bits, which have to be copied for every token too. `fast` is `fives` where copies run beside
// kernels, and otherwise `in_batches`.
enum class HostWeights { fast, read, in_batches, copied, fives };

// Whether the first passes over guesses are compared with their tokens one by one (session_drafts.cpp).
// `fails` spoils one of the results that are compared.
enum class PassCheck { on_gpus, always, fails };

struct KernelOptions {
  IntegerDot integer_dot = IntegerDot::where_fast;
  ChainedDecode chained_decode = ChainedDecode::where_safe;
  bool as_gpu = false;  // choose kernels as for a GPU even where the device is a software one
  // 8, 16, 32 or 64: kernels work with subgroups of so many lanes in shared memory, as on a device without
  // subgroup arithmetic; 0 = with the device's own. The results agree within what f32 sums in another order
  // allow.
  uint32_t subgroup_size = 0;
  // With subgroups of 32 in shared memory: attention works as where a device multiplies matrices of F16, in
  // plain arithmetic, for tests where no device does.
  bool emulate_matrices = false;
  // Lanes of a subgroup that were apart go on together without more ado, as where the device promises it, for
  // tests on devices that do so anyway.
  bool assume_reconvergence = false;
  // How many invocations norm an input of whole ternary matrices on a GPU; 0: as suits the model.
  uint32_t row_size = 0;
  // How many workgroups of a chain run at a time, among which its work is divided; the results are the same.
  // 0: as many as are found to.
  uint32_t groups_at_once = 0;
  HostWeights host_weights = HostWeights::fast;
  // Overwrite copied weights once they are used, so that whoever is late is found, and let each expert that
  // is missed take a place on the device.
  bool poison_slots = false;
  // How many bytes of weights in host memory a submission reads where they lie, unless one matrix has more. A
  // driver ends a submission that takes too long (amdgpu of newer kernels one of 2 s).
  uint64_t read_at_once = 512 << 20;
  bool always_stage = false;  // copy weights to the device even where the host could write them in place
  std::string cpu_kernels;  // "avx2", ...: those for one instruction set, as in engine/cpu/; empty = the best
  HeadShortlist head_shortlist = HeadShortlist::where_large;
  uint32_t most_batch = UINT32_MAX;  // tokens of a run; caches of layers with a window have room for no more
  uint32_t draft_tokens = 0;  // of each guess that are tried (DecodeOptions::drafts); 0 = as many as pay
  PassCheck pass_check = PassCheck::on_gpus;
  uint64_t snapshot_bytes = 1 << 30;  // of host memory, for states of a timeline (snapshots.h)
};

inline std::shared_ptr<const KernelOptions> share(KernelOptions options) {
  return std::make_shared<const KernelOptions>(std::move(options));
}

inline KernelOptions kernels_of(const EngineOptions& options) {
  return options.kernels ? *options.kernels : KernelOptions{};
}

}  // namespace bitnet
