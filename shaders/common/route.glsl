// Which experts a token has, by the logits of its router: those with the largest, of equal ones the lower id
// (Routing and Picked in engine/kernel_operands.h). All kernels that include this give the same bits. Expects
// activation.glsl and ROUTER_QUADS, the vec4 that the logits of all experts take.
shared vec4 router_logits[ROUTER_QUADS];  // and behind the last one what no expert has
shared uint chosen[MOST_EXPERTS / 32];    // a bit each
shared float chosen_shares[MOST_USED];    // in the order of ids, which is that of the sum
shared float largest_logit;

#define NO_EXPERT uintBitsToFloat(0xFF800000u)  // -inf

float logit_of(uint expert) { return router_logits[expert / 4][expert % 4]; }

uint n_true(bvec4 v) { return uint(v.x) + uint(v.y) + uint(v.z) + uint(v.w); }

// Chooses this expert if it is one of the `used` first. Requires: the logits are there and no bit of `chosen`
// was set.
void rank_expert(uint expert, uint n_expert, uint used) {
  float own = logit_of(expert);
  uint quads = (n_expert + 3) / 4, own_quad = expert / 4;
  uint before = 0;  // a NaN has none before it, so there are as many chosen ones as are used, or more
  for (uint quad = 0; quad < own_quad; ++quad)
    before += n_true(greaterThanEqual(router_logits[quad], vec4(own)));
  vec4 four = router_logits[own_quad];
  for (uint j = 0; j < 4; ++j) before += four[j] > own || (four[j] == own && j < expert % 4) ? 1 : 0;
  for (uint quad = own_quad + 1; quad < quads; ++quad)
    before += n_true(greaterThan(router_logits[quad], vec4(own)));
  if (before < used) atomicOr(chosen[expert / 32], 1u << expert % 32);
  if (before == 0) largest_logit = own;
}

bool is_chosen(uint expert) { return (chosen[expert / 32] >> expert % 32 & 1u) != 0; }

// Of the chosen ones, how many have a lower id.
uint place_of(uint expert) {
  uint place = bitCount(chosen[expert / 32] & (1u << expert % 32) - 1);
  for (uint i = 0; i < expert / 32; ++i) place += bitCount(chosen[i]);
  return place;
}

// The probability, or where they are a softmax what is to be divided by the sum of all.
float share_of_logit(float logit, bool sigmoid) {
  float e = exp_below_0(sigmoid ? -abs(logit) : logit - largest_logit);
  if (!sigmoid) return e;
  precise float share = (logit >= 0.0 ? 1.0 : e) / (1.0 + e);
  return share;
}

// What shares are divided by.
float sum_of_shares(uint n_expert, uint used, bool sigmoid, bool normed) {
  if (!normed && sigmoid) return 1.0;
  precise float total = 0.0;
  for (uint i = 0; normed && i < used; ++i) total += chosen_shares[i];
  for (uint i = 0; !normed && i < n_expert; ++i) total += share_of_logit(logit_of(i), sigmoid);
  precise float sum = total + 1e-20;
  return sum;
}

float weight_of_share(float share, float sum, float scale) {
  precise float weight = share / sum * scale;
  return weight;
}
