// A ternary product of one token as a stage of decode.comp, y = W int8(rms_norm(x) * weight). Every workgroup
// norms and quantises the whole vector. It loads its share of the codes and of the norm's weights before it
// waits for x. LANES lanes share rows, so that the loads of a subgroup are long runs of them. The results are
// those of rms_norm_quantise and of the kernels for few tokens, bit for bit. This file is included once for
// each shape of loop, after the definition of:
//   LINEAR      the name of the function
//   LANES       lanes that share rows
//   ROWS        rows of the result that they share, no more than LANES; for groups alone, otherwise it is one
//   LOADS       uvec4 of a row that each of them takes
//   NORM_LOADS  vec4 of x that an invocation norms
//   NORM        NORM_...: whether it norms
//   MATRICES    1: plain, or added to y; 2: act(gate) * up, the rows n_out of gate before those of up
#ifdef GROUPS
#include "common/decode_groups.glsl"
#else
#include "common/decode_trits.glsl"
#endif
#undef LINEAR
#undef LANES
#undef ROWS
#undef LOADS
#undef NORM_LOADS
#undef NORM
#undef MATRICES
