// The norm of a row by a workgroup; CONSTANT_NORM says which. Expects reduce.glsl, the buffers x, weight and
// bias (vec4) and the push constants of NormPush.
layout(constant_id = CONSTANT_NORM) const uint kNorm = NORM_ALWAYS;

#include "rms.glsl"
#include "layer_norm.glsl"

// What is known of a row before its values are normed.
struct RowNorm {
  LayerNorm layer;
  float inverse;
};

// Of the row whose first vec4 is `row`.
RowNorm norm_of_row(uint row) {
  RowNorm norm = RowNorm(LayerNorm(0.0, 1.0), 1.0);
  if (kNorm == NORM_LAYER)
    norm.layer = layer_norm(row, push.n, push.epsilon);
  else if (kNorm != NORM_NEVER)
    norm.inverse = inverse_rms(row);
  return norm;
}

vec4 normed(uint row, uint i, RowNorm norm) {
  if (kNorm == NORM_NEVER) return x[row + i];
  if (kNorm == NORM_LAYER) return layer_normed(x[row + i], norm.layer, weight[i], bias[i]);
  precise vec4 result = x[row + i] * norm.inverse;
  if (kNorm != NORM_ONES) result *= weight[i];
  return result;
}
