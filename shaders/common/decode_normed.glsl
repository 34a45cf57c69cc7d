// The normed vector as floats, which rotations and routers of experts need in decode.comp; products round it
// besides.

// Takes the vector and norms what this invocation has of it.
void take_normed_vector(uint invocation, bool long_rows) {
  uint words = push.n_in / 4, loads = loads_of(long_rows);
  load_weights(invocation, words, loads, true);
  take_vector(invocation, words, long_rows);
  float squares = 0.0;
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i)
    if (i < loads && place_of(invocation, i) < words) squares = add_squares(own_x[i], squares);
  meet_behind_polls();
  float inverse = inverse_of_row(squares);
  UNROLL for (uint i = 0; i < kMostNormLoads; ++i) {
    precise vec4 y = own_x[i] * inverse;
    if (i < kWeights) y *= own_weight[i];
    own_x[i] = y;
  }
}
