// Where the states of a Gated DeltaNet lie. Expects common/delta.glsl and the buffer params.
// The slot of a state: that before the token `ahead` behind the batch's first.
uint slot_of(uint ahead) { return (params[PARAMS_POSITION] + ahead) % 2; }
uint conv_at(uint slot, uint back) { return (slot * (kConv - 1) + back) * channels(); }
