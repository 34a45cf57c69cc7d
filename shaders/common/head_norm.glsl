// What happens to q, k and v before RoPE; CONSTANT_HEAD_INPUT says what of it a model has. A bias is added,
// and each head of q, of k and of v is normed: y = x / sqrt(mean(x^2) + epsilon) * weight. All kernels that
// include this give the same bits, because they sum the squares of a head in the same order: in kShares
// shares, the i-th of which has the features i, i + kShares and so on, and then the shares in a tree.
layout(constant_id = CONSTANT_HEAD_INPUT) const uint kHeadInput = 0;
const bool kHasBias = (kHeadInput & HEAD_BIAS) != 0;
const bool kHasNorm = (kHeadInput & (HEAD_Q_NORM | HEAD_K_NORM)) != 0;

const uint kShares = 16;

float add_square(float x, float sum) {
  precise float more = fma(x, x, sum);
  return more;
}

// `per_feature` is 1 / head_dim. A division would not be rounded in the same way everywhere.
float inverse_of_head(vec4 shares[kShares / 4], float per_feature, float epsilon) {
  precise vec4 four = (shares[0] + shares[1]) + (shares[2] + shares[3]);
  precise float sum = (four.x + four.y) + (four.z + four.w);
  precise float mean = sum * per_feature;
  precise float inverse = 1.0 / sqrt(mean + epsilon);
  return inverse;
}

float normed(float x, float inverse, float weight) {
  precise float scaled = x * inverse;
  precise float result = scaled * weight;
  return result;
}
