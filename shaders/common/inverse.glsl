#ifndef BITNET_SHADERS_INVERSE
#define BITNET_SHADERS_INVERSE
// What a row of RMSNorm is multiplied by: 1 / sqrt(mean(x^2) + epsilon). `squares` is the sum of squares of
// the row, or what an invocation has of it. Expects reduce.glsl and push constants `n_in` and `epsilon`.
float inverse_of_sum(float squares) {
  precise float inverse = 1.0 / sqrt(squares / float(push.n_in) + push.epsilon);
  return inverse;
}

float inverse_of_row(float squares) { return inverse_of_sum(workgroup_add(squares)); }

vec4 normed(vec4 x, float inverse) {
  precise vec4 y = x * inverse;
  return y;
}
#endif
