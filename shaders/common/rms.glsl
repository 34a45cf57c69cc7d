// RMSNorm (Zhang & Sennrich 2019) of one row by one workgroup: y = x / sqrt(mean(x^2) + epsilon) * weight.
// Expects the buffers x (vec4) and weight (vec4) and the push constants of NormPush.

// 1 / rms of the row whose first vec4 is `row`. Each invocation sums at most n / size squares and the rest is
// a tree, so f32 is enough.
float inverse_rms(uint row) {
  float sum = 0.0;
  for (uint i = gl_LocalInvocationID.x; i < push.n / 4; i += gl_WorkGroupSize.x)
    sum = add_squares(x[row + i], sum);
  precise float inverse = 1.0 / sqrt(workgroup_add(sum) / float(push.n) + push.epsilon);
  return inverse;
}
