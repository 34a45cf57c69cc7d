// The mapping of floats to integers of the same order. A key is larger for a larger float; -0 and 0 have the
// same key.
uint key_of(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

uint bits_of(uint key) { return (key & 0x80000000u) != 0u ? key & 0x7FFFFFFFu : ~key; }
