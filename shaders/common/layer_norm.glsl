// LayerNorm (Ba et al. 2016) of one row by one workgroup: y = (x - mean) / sqrt(variance + epsilon) * weight
// + bias. The variance is summed after the mean is known, since squares would lose what a large mean hides.
// All kernels that include this give the same bits. Expects reduce.glsl and the buffer x (vec4).

struct LayerNorm {
  float mean;
  float inverse;
};

// Of the row of n features whose first vec4 is `row`.
LayerNorm layer_norm(uint row, uint n, float epsilon) {
  precise float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < n / 4; i += gl_WorkGroupSize.x) {
    vec4 v = x[row + i];
    sum += (v.x + v.y) + (v.z + v.w);
  }
  precise float mean = workgroup_add(sum) / float(n);
  precise float squares = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < n / 4; i += gl_WorkGroupSize.x) {
    precise vec4 v = x[row + i] - mean;
    squares = fma(v.x, v.x, fma(v.y, v.y, fma(v.z, v.z, fma(v.w, v.w, squares))));
  }
  barrier();  // everyone has read the sum of the first values
  precise float inverse = 1.0 / sqrt(workgroup_add(squares) / float(n) + epsilon);
  return LayerNorm(mean, inverse);
}

vec4 layer_normed(vec4 v, LayerNorm norm, vec4 weight, vec4 bias) {
  precise vec4 scaled = (v - norm.mean) * norm.inverse;
  precise vec4 weighted = scaled * weight;
  precise vec4 result = weighted + bias;
  return result;
}
