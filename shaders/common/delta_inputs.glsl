// The inputs that the convolution of a Gated DeltaNet sees. Expects common/delta_slots.glsl and the
// buffers qkvz and conv_state.
const uint kMostConv = 8;

// What the channel was given `i` tokens behind the batch's first; before that it is in the state.
float input_of(uint channel, int i) {
  if (i >= 0) return qkvz[uint(i) * qkvz_width() + channel];
  return conv_state[conv_at(slot_of(0), uint(int(kConv) - 1 + i)) + channel];
}
