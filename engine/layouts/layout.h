// How weights lie on a device. There are few layouts for many types of file: kernels know layouts.
//
// Thread rule: values.
//
// A code 0, 1, 2 is the weight -1, 0, +1.
#pragma once

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
  // Quantised dense rows (Q8_0, Q4_0, ...), codes and scales apart, in as many bits as in the file; blocks.h
  // has their meaning: blocks for Vulkan (pack_blocks.h), blocks16 for the CPU.
  blocks,
  blocks16,
  // Rows of F32, F16 or BF16 as they lie in the file.
  floats,
};

}  // namespace bitnet
