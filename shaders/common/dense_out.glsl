// What becomes of a result of a matrix of blocks or floats. Expects activation.glsl, kOut, the push constants
// of DensePush, and y and bias.

// `result` is of row `row` of n_out, and with OUT_GATE `up` is of the same row of up.
void put(uint t, uint row, float result, float up) {
  uint at = t * push.stride + push.first_row + row;
  if (push.has_bias != 0) {
    precise float biased = result + bias[push.first_row + row];
    result = biased;
    if (kOut == OUT_GATE) {
      precise float biased_up = up + bias[push.n_out + row];
      up = biased_up;
    }
  }
  if (kOut == OUT_GATE) result = gated(result, up);
  if (kOut == OUT_ACT) result = activated(result);
  if (kOut == OUT_ADD) {
    precise float sum = y[at] + result;
    result = sum;
  }
  y[at] = result;
}
