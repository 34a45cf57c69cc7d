// The convolution of Gated DeltaNet. Expects common/delta_inputs.glsl and the buffer conv_weight.
float convolved(uint channel, int token) {
  precise float sum = 0.0;
  for (uint j = 0; j < kConv; ++j)
    sum = fma(conv_weight[channel * kConv + j], input_of(channel, token + int(j) - int(kConv - 1)), sum);
  return times_logistic(sum, sum);
}
