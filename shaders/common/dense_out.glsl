// What becomes of a result of a matrix of blocks or floats. Expects activation.glsl, kOut, `push`, a
// DensePush, and y and bias.

uint place_of(uint t, uint row) { return t * push.stride + push.first_row + row; }

// `result` is of row `row` of n_out, and with OUT_GATE `up` is of the same row of up; with OUT_ADD `before`
// is what lies at its place.
float finished(uint row, float result, float up, float before) {
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
    precise float sum = before + result;
    result = sum;
  }
  return result;
}

void put(uint t, uint row, float result, float up) {
  uint at = place_of(t, row);
  y[at] = finished(row, result, up, kOut == OUT_ADD ? y[at] : 0.0);
}
