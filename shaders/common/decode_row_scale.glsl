// How a workgroup of decode.comp finds the scale of its vector, for which all that it multiplies waits. Part
// of decode_vector.glsl.
//
// With groups and one plane of int8 as little as possible waits for anything else: neighbours that share a
// unit know the largest magnitude of it, and do not compare it once more for that of the row; subgroups find
// that by an atomic; and where there is no norm nothing is added up. That is 1 % of a token of Bonsai-8B on
// an H200. The other kernels are no faster with it (../../bench/speed/decode.md).

// An invocation's share of what row_scale() takes.
struct RowShare {
  float squares;
  float largest;
};

#if defined(GROUPS) && !defined(TWO_PLANES)
#define FORGETS_ROWS
// Bits of the largest magnitude of a row, which have the order of numbers that are not negative. Tokens that
// follow each other have two places in turns, so that the one before can be forgotten meanwhile.
shared uint row_largest[2];
uint place_of_largest(uint token) { return kTokens == 1 ? 0 : token % 2; }

// By invocation 0, in front of a barrier that is in front of the rows.
void forget_rows() {
  row_largest[0] = 0;
  if (kTokens > 1) row_largest[1] = 0;
}
void forget_row_of(uint token) {
  if (gl_LocalInvocationID.x == 0) row_largest[place_of_largest(token)] = 0;
}

void share_largest(float of_subgroup) {
  if (LANE == 0) atomicMax(row_largest[place_of_largest(this_token)], floatBitsToUint(of_subgroup));
}
float largest_of_row() { return uintBitsToFloat(row_largest[place_of_largest(this_token)]); }

// The scale of a row, of which `sharers` neighbours, a power of two, have the same `largest`. All of these
// have a barrier that also shows everyone what was stored in front of it.
RowScale row_scale_of(RowShare share, uint sharers, bool normed) {
  precise float squares = share.squares;
  float largest = share.largest;
  UNROLL for (uint step = 1; step < SUBGROUP_SIZE; step *= 2) {
    squares += shuffle_xor(squares, step);
    if (step >= sharers) largest = max(largest, shuffle_xor(largest, step));
  }
  share_part(squares);
  share_largest(largest);
  barrier();
  largest = largest_of_row();
  return row_scale(vec2(sum_of_parts(), largest), normed);
}

RowScale row_scale_of(RowShare share, bool normed) { return row_scale_of(share, 1, normed); }

// The same of a vector that has come as int8, which has no norm.
RowScale row_scale_of_units(float largest) {
  UNROLL for (uint step = 1; step < SUBGROUP_SIZE; step *= 2) largest = max(largest, shuffle_xor(largest, step));
  share_largest(largest);
  barrier();
  return row_scale(vec2(0.0, largest_of_row()), false);
}

// The same of a vector in units, which has come as int8 or else was rounded by round_words(), which gives
// of_units.
RowScale row_scale_of_rounded(float squares, float largest, float of_units, bool has_come, bool normed) {
  if (has_come) return row_scale_of_units(largest);
  return row_scale_of(RowShare(squares, of_units), kUnitWords, normed);
}
#else
void forget_rows() {}
void forget_row_of(uint token) {}
RowScale row_scale_of(RowShare share, bool normed) { return row_scale(share.squares, share.largest, normed); }
RowScale row_scale_of_rounded(float squares, float largest, float of_units, bool has_come, bool normed) {
  return row_scale(squares, largest, normed);
}
#endif
