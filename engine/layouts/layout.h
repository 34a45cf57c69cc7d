// How weights lie on a device. There are few layouts for many types of file: kernels know layouts.
//
// Thread rule: values.
//
// A code 0, 1, 2 is the weight -1, 0, +1.
#pragma once

#include <cstddef>

namespace bitnet {

enum class Layout {
  // As in an i2_s file (i2s.h, block128), with one scale for a whole tensor. [rows][n_in / 4] bytes.
  trits,
  // For Vulkan, with a scale every 64 inputs or a multiple of that: [rows][n_in / 64] groups of 16 bytes.
  // Byte b of a group holds its elements b, 16 + b, 32 + b, 48 + b at the shifts 6, 4, 2, 0. The scales are
  // F16 [rows][n_in / scale_every].
  groups,
  // For the CPU, sixteen rows side by side: [ceil(rows / 16)][n_in / 16][16 rows][4 bytes]. Byte b of block j
  // holds the elements 16 j + b, + 4, + 8, + 12 at the shifts 6, 4, 2, 0. The scales are F16 [ceil(rows /
  // 16)][n_in / scale_every][16 rows]. Rows past the end have codes of 1 and scales of 0.
  groups16,
  // As groups16 in 1.6 bits, for CPUs that look bytes up in tables (trits too, without scales), and for host
  // memory from which a GPU copies them (its scales are as in its own layout): [ceil(rows / 16)] bands, each
  // of [n_in / 320][16][16 rows][4 bytes] and of what is left of n_in as in groups16. Byte b of word i of a
  // row holds the elements 4 i + b of five groups of 64: c0 + 3 c1 + 9 c2 + 28 c3 + 84 c4.
  fives16,
  // Quantised dense rows (Q8_0, Q4_0, ...), codes and scales apart, in as many bits as in the file. blocks.h
  // has what they mean. `blocks` is for Vulkan: pack_blocks.h.
  blocks,
  // For the CPU, sixteen rows side by side (pack_blocks16.h): [ceil(rows / 16)][n_in / unit][words][16
  // rows][4 bytes]; a code has the type's offset added to it. With 8 bits byte b of word k holds element
  // 4 k + b of the unit. With fewer, byte b of word k holds the low four bits of element 8 k + b and, above
  // them, of 8 k + 4 + b, and byte b of one more word holds what is above four bits of the elements 4 k + b,
  // at shift k (5 bits) or 2 k (6). The scales are F16 [ceil(rows / 16)][n_in / 32][16 rows]; in the K types
  // they are for each 256 inputs F16 d [16 rows] and dmin [16 rows], and for each unit a byte of its step [16
  // rows] and of its min_step [16 rows]. Q6_K has no minima. Rows past the end have scales of 0.
  blocks16,
  // Rows of F32, F16 or BF16 as they lie in the file.
  floats,
};

// Whether sixteen ternary rows lie side by side.
constexpr bool has_bands(Layout layout) { return layout == Layout::groups16 || layout == Layout::fives16; }

// Bytes of a row of ternary codes. In a layout with bands it is a sixteenth of a band.
constexpr size_t code_bytes(Layout layout, size_t n_in) {
  return layout == Layout::fives16 ? n_in / 320 * 64 + n_in % 320 / 4 : n_in / 4;
}

}  // namespace bitnet
