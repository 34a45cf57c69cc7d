// Units of gates that are split among workgroups. A workgroup rounds the units that it has made, so where these do not
// divide evenly most would wait for a few that have one more. Of the last units each workgroup therefore
// takes the rows of a few of its subgroups, behind its own units, and hands them over as values, which lie
// behind the units; who takes them rounds them. They are no more quads than there are invocations, nor than
// the int8 before them have. Part of decode_rounded.glsl, for groups with two planes, whose units take long.
#ifdef GROUPS
const bool kMaySplitGates = kRest != 0 && kGatesRound;
#else
const bool kMaySplitGates = false;
#endif
uint split_units() { return kMaySplitGates ? push.split_units : 0; }
uint split_rows() { return split_units() * 4 * kUnitWords; }
uint split_quads() { return split_units() * kUnitWords; }

// Where they lie behind so many whole units; for who gives them too, since there is one token.
uint first_split_quad(uint whole) { return (2 * first_of_units(whole) + 2 * whole + 3) / 4; }

// The first of the rows, so many, that a subgroup takes of them. The last subgroups of a workgroup take some.
uint split_row(uint group, uint rows) {
  return push.n_out - split_rows() + (group * push.split_subgroups + N_SUBGROUPS - 1 - SUBGROUP) * rows;
}
bool takes_split(uint row) {
  return kMaySplitGates && N_SUBGROUPS - 1 - SUBGROUP < push.split_subgroups && row < push.n_out;
}

void give_split(uint row, float value) {
  uint first = push.n_out - split_rows();
  Given(push.to).at[4 * first_split_quad(first / (4 * kUnitWords)) + row - first] =
      given(floatBitsToUint(value));
  if ((push.flow & FLOW_OUT) != 0) Floats(push.y).at[row] = value;
}

// The quad behind so many whole units that an invocation takes, or the last one.
uint split_quad_of(uint invocation, uint whole) {
  return first_split_quad(whole) + min(invocation, split_quads() - 1);
}

// Rounds what was taken as the last of so many units, and returns the largest magnitude that this
// invocation has seen.
float round_split(uint invocation, uint units) {
  first_word = first_unit = units - split_units();
  float largest = round_words(invocation, split_quads(), units, 1, 0.0);
  first_word = first_unit = 0;
  return largest;
}
