// The choice that sampling makes from the likeliest tokens, by one workgroup: the same that Sampler
// (engine/sampler.h) makes from all logits. Sums are 64-bit integers, (low, high), and floats are only added
// and multiplied, so the choice is the same everywhere. Expects float_key.glsl and the buffers settings and
// history, where the token of position p is at p % SAMPLE_HISTORY.

shared uint id[SAMPLE_CANDIDATES];
shared uint logit_bits[SAMPLE_CANDIDATES];
shared uint key[SAMPLE_CANDIDATES];  // of the logit, penalised
// Of the top_k of them, the likeliest first:
shared uint which[SAMPLE_CANDIDATES];
shared uint id_of[SAMPLE_CANDIDATES];
shared uint weight[SAMPLE_CANDIDATES];
shared uint kept[SAMPLE_CANDIDATES];  // its weight, or 0 for what top-p or min-p cut

uvec2 add(uvec2 a, uint b) {
  uint carry;
  uint low = uaddCarry(a.x, b, carry);
  return uvec2(low, a.y + carry);
}

bool less(uvec2 a, uvec2 b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

// (a * b) >> 32
uvec2 scaled(uvec2 a, uint b) {
  uint high, low, high_of_low, unused;
  umulExtended(a.x, b, high_of_low, unused);
  umulExtended(a.y, b, high, low);
  return add(uvec2(low, high), high_of_low);
}

// (a * b) >> 64
uvec2 high_product(uvec2 a, uvec2 b) {
  uint unused, low, high, carry;
  umulExtended(a.x, b.x, high, unused);
  uvec2 middle = uvec2(high, 0u);
  umulExtended(a.x, b.y, high, low);
  middle = add(middle, low);
  uint above = high;
  umulExtended(a.y, b.x, high, low);
  middle = add(middle, low);
  uvec2 rest = add(uvec2(above, 0u), high);
  umulExtended(a.y, b.y, high, low);
  rest = add(rest, low);
  rest = add(rest, middle.y);
  return uvec2(rest.x, rest.y + high);
}

// 2^31 * 2^-a, as weight_of in sampler.cpp
uint weight_at(float a) {
  if (!(a < 31.0)) return 0u;
  float whole = floor(a);
  precise float f = a - whole;
  precise float m = -0.0018898058915510774;
  m = m * f;
  m = m + 0.01841159351170063;
  m = m * f;
  m = m + -0.11059471219778061;
  m = m * f;
  m = m + 0.4803602993488312;
  m = m * f;
  m = m + -1.3862874507904053;
  m = m * f;
  m = m + 2.0;
  return uint(m * 1073741824.0) >> uint(whole);
}

uint penalised(uint bits, uint token, uint position) {
  bool repeated = false;
  for (uint i = 1u; i <= min(settings.n_recent, position); ++i) {
    repeated = repeated || history[(position - i) % SAMPLE_HISTORY] == token;
  }
  if (!repeated || (bits & 0x7F800000u) == 0x7F800000u) return bits;
  float logit = uintBitsToFloat(bits);
  precise float changed = logit * (logit > 0.0 ? settings.inverse : settings.penalty);
  return floatBitsToUint(clamp(changed, -3.40282347e38, 3.40282347e38));
}

// Whether one comes before the other; equal values are in the order of their ids.
bool before(uint value, uint id, uint other, uint other_id) { return value != other ? value > other : id < other_id; }

// Chooses one of n candidates, of which id and logit_bits are known, for a position. Only the invocation that
// finds it gets true and, in `chosen`, which one it is.
bool choose(uint n, uint position, uvec2 random, out uint chosen) {
  uint lane = gl_LocalInvocationID.x, step = gl_WorkGroupSize.x, n_kept = min(n, settings.top_k);
  for (uint i = lane; i < n; i += step) key[i] = key_of(penalised(logit_bits[i], id[i], position));
  barrier();

  for (uint i = lane; i < n; i += step) {
    uint rank = 0u;
    for (uint j = 0u; j < n; ++j) rank += uint(before(key[j], id[j], key[i], id[i]));
    if (rank < n_kept) {
      which[rank] = i;
      id_of[rank] = id[i];
    }
  }
  barrier();

  for (uint i = lane; i < n_kept; i += step) {
    uint own_bits = bits_of(key[which[i]]);
    precise float below = uintBitsToFloat(bits_of(key[which[0]])) - uintBitsToFloat(own_bits);
    precise float a = below * settings.scale;
    weight[i] = own_bits != 0xFF800000u ? weight_at(a) : 0u;
  }
  barrier();

  for (uint i = lane; i < n_kept; i += step) {
    uvec2 total = uvec2(0u), likelier = uvec2(0u);
    for (uint j = 0u; j < n_kept; ++j) {
      total = add(total, weight[j]);
      if (before(weight[j], id_of[j], weight[i], id_of[i])) likelier = add(likelier, weight[j]);
    }
    uvec2 enough = scaled(total, settings.top_p);
    if (enough == uvec2(0u)) enough.x = 1u;
    bool in_top_p = settings.top_p == 0u || less(likelier, enough);
    kept[i] = in_top_p && weight[i] >= settings.min_weight ? weight[i] : 0u;
  }
  barrier();

  bool found = false;
  for (uint i = lane; i < n_kept; i += step) {
    uvec2 total = uvec2(0u), earlier = uvec2(0u);
    for (uint j = 0u; j < n_kept; ++j) {
      total = add(total, kept[j]);
      if (id_of[j] < id_of[i]) earlier = add(earlier, kept[j]);
    }
    uvec2 point = high_product(random, total);
    if (less(point, earlier) || !less(point, add(earlier, kept[i]))) continue;
    found = true;
    chosen = which[i];
  }
  return found;
}
