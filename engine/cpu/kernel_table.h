// The table of kernels.h for one instruction set, written once and included by each kernels_*.cpp inside its
// own namespace, after all of its kernels. No include guard and no includes, as in float_loops.h.

consteval CpuKernels table_of_kernels(const char* name) {
  return {.name = name,
          .ternary_rows = ternary_rows,
          .unpack_tile = unpack_tile,
          .tile_product = tile_product,
          .group_rows = group_rows,
          .unpack_bands = unpack_bands,
          .unpack_scales = unpack_scales,
          .group_tile = group_tile,
          .scale_sums = scale_sums,
          .add_sums = add_sums,
          .gate_sums = gate_sums,
          .half_rows = half_rows,
          .float_rows = float_rows,
          .to_floats = to_floats,
          .to_halves = to_halves,
          .int8_row = int8_row,
          .int8_rows = int8_rows,
          .read = read,
          .sum_of_squares = sum_of_squares,
          .normalise = normalise,
          .largest_normalised = largest_normalised,
          .quantise = quantise,
          .rotate = rotate,
          .attention = attention,
          .largest_logit = largest_logit};
}
