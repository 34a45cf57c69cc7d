// Rows of the token embedding or of the LM head, decoded from the bytes of a GGUF file. Those of F32, F16 and
// BF16 are read eight features at a time. Those of the block types are read in units of 32 features, which
// are four runs of eight neighbours:
//   value = scale * (fraction - kBias) - minimum
// A code of b bits becomes the fraction 1 + code / 2^b: the code is put into the mantissa of an F16, since a
// GPU converts F16 to f32 faster than integers. Fractions, scales and the product above are exact in f32.
layout(constant_id = CONSTANT_TABLE_TYPE) const uint kTableType = TABLE_F16;

const bool kFloatTable = kTableType == TABLE_F32 || kTableType == TABLE_F16 || kTableType == TABLE_BF16;

// Eight floats of a row from 16 bytes, or in F32 from 32.
void eight_floats(uvec4 first, uvec4 second, out vec4 low, out vec4 high) {
  if (kTableType == TABLE_F32) {
    low = uintBitsToFloat(first);
    high = uintBitsToFloat(second);
  } else if (kTableType == TABLE_F16) {
    low = vec4(unpackHalf2x16(first.x), unpackHalf2x16(first.y));
    high = vec4(unpackHalf2x16(first.z), unpackHalf2x16(first.w));
  } else {
    low = uintBitsToFloat(uvec4(first.x << 16, first.x & 0xFFFF0000u, first.y << 16, first.y & 0xFFFF0000u));
    high = uintBitsToFloat(uvec4(first.z << 16, first.z & 0xFFFF0000u, first.w << 16, first.w & 0xFFFF0000u));
  }
}

#ifdef TABLE_QUADS
// Expects uvec4 TABLE_QUADS[]. Features 8i .. 8i + 7, counted from the first row on.
void decode_eight(uint i, out vec4 low, out vec4 high) {
  if (kTableType == TABLE_F32)
    eight_floats(TABLE_QUADS[2 * i], TABLE_QUADS[2 * i + 1], low, high);
  else
    eight_floats(TABLE_QUADS[i], uvec4(0), low, high);
}
#endif

#ifdef TABLE_WORD
// Expects TABLE_WORD(i), the word at byte 4i. Blocks begin at even bytes.
const bool kOfWords = kTableType == TABLE_Q4_K || kTableType == TABLE_Q5_K;  // blocks begin at words
const float kBias = kOfWords ? 1.0 : 1.5;
const uint kOne = 0x3C003C00u;  // two F16 of 1

uint row_bytes(uint n_embd) {
  switch (kTableType) {
    case TABLE_Q4_0: return n_embd / 32 * 18;
    case TABLE_Q5_0: return n_embd / 32 * 22;
    case TABLE_Q8_0: return n_embd / 32 * 34;
    case TABLE_Q4_K: return n_embd / 256 * 144;
    case TABLE_Q5_K: return n_embd / 256 * 176;
    default: return n_embd / 256 * 210;  // Q6_K
  }
}

// The first feature of a run, counted from the beginning of the row.
uint feature_of_run(uint unit, uint run) {
  switch (kTableType) {
    case TABLE_Q4_0:
    case TABLE_Q5_0:
    case TABLE_Q8_0: return unit * 32 + run * 8;
    case TABLE_Q4_K:
    case TABLE_Q5_K: return unit / 2 * 64 + unit % 2 * 16 + run / 2 * 32 + run % 2 * 8;
    default: return unit / 4 * 128 + run * 32 + unit % 4 * 8;
  }
}

// What lies at an even byte.
uint word_at(uint byte) {
  uint i = byte / 4, word = TABLE_WORD(i);
  return kOfWords || (byte & 2) == 0 ? word : word >> 16 | TABLE_WORD(i + 1) << 16;
}
uvec2 pair_at(uint byte) {
  uint i = byte / 4;
  uvec2 words = uvec2(TABLE_WORD(i), TABLE_WORD(i + 1));
  if (kOfWords) return words;
  uint next = TABLE_WORD(i + 2);
  return (byte & 2) == 0 ? words : words >> 16 | uvec2(words.y, next) << 16;
}
uvec4 quad_at(uint byte) {
  uint i = byte / 4;
  uvec4 words = uvec4(TABLE_WORD(i), TABLE_WORD(i + 1), TABLE_WORD(i + 2), TABLE_WORD(i + 3));
  if (kOfWords) return words;
  uint next = TABLE_WORD(i + 4);
  return (byte & 2) == 0 ? words : words >> 16 | uvec4(words.yzw, next) << 16;
}
float half_at(uint byte) { return from_half(TABLE_WORD(byte / 4) >> (byte & 2) * 8); }

// Four fractions from the codes of bytes 0 and 2 and of bytes 1 and 3, already at their places in the F16.
vec4 fractions(uint even, uint odd) {
  vec2 e = unpackHalf2x16(even | kOne), o = unpackHalf2x16(odd | kOne);
  return vec4(e.x, o.x, e.y, o.y);
}

// The scales and minima of the sub-blocks `j` and j + 1, j even, of a block of Q4_K or Q5_K from its header:
// d and dmin, then twelve bytes.
void k_scales(uvec4 header, uint j, out vec4 scale, out vec4 minimum) {
  vec2 d = vec2(from_half(header.x), from_half(header.x >> 16));
  uvec3 s = header.yzw >> (j & 2) * 8;
  uvec2 first = uvec2(s.x, s.x >> 8), second = uvec2(s.y, s.y >> 8), third = uvec2(s.z, s.z >> 8);
  bool low = j < 4;
  vec2 sc = vec2(low ? first & 63u : third & 15u | first >> 2 & 0x30u);
  vec2 m = vec2(low ? second & 63u : third >> 4 & 15u | second >> 2 & 0x30u);
  scale = (d.x * (kTableType == TABLE_Q4_K ? 16.0 : 32.0)) * sc.xxyy;
  minimum = d.y * m.xxyy;
}

// Each of the following decodes a unit of the row that begins at `byte`. f[2 * run] and f[2 * run + 1] are
// the fractions of a run.
void decode_q8_0(uint byte, uint unit, out vec4 f[8], out vec4 scale) {
  byte += unit * 34;
  scale = vec4(half_at(byte) * 256.0);
  UNROLL for (uint half_ = 0; half_ < 2; ++half_) {
    uvec4 words = quad_at(byte + 2 + 16 * half_);
    UNROLL for (uint i = 0; i < 4; ++i)
      f[4 * half_ + i] = fractions(words[i] << 2 & 0x03FC03FCu ^ 0x02000200u,
                                   words[i] >> 6 & 0x03FC03FCu ^ 0x02000200u);
  }
}

void decode_q4_0(uint byte, uint unit, out vec4 f[8], out vec4 scale) {
  byte += unit * 18;
  scale = vec4(half_at(byte) * 16.0);
  uvec4 words = quad_at(byte + 2);
  UNROLL for (uint i = 0; i < 4; ++i) {
    f[i] = fractions(words[i] << 6 & 0x03C003C0u, words[i] >> 2 & 0x03C003C0u);
    f[4 + i] = fractions(words[i] << 2 & 0x03C003C0u, words[i] >> 6 & 0x03C003C0u);
  }
}

void decode_q5_0(uint byte, uint unit, out vec4 f[8], out vec4 scale) {
  byte += unit * 22;
  scale = vec4(half_at(byte) * 32.0);
  uint fifth = word_at(byte + 2);
  uvec4 words = quad_at(byte + 6);
  UNROLL for (uint i = 0; i < 8; ++i) {
    uint word = i < 4 ? words[i] << 1 : words[i - 4] >> 3, bits = fifth >> 4 * i;
    f[i] = fractions(word << 4 & 0x01E001E0u | bits << 9 & 0x200u | bits << 23 & 0x02000000u,
                     word >> 4 & 0x01E001E0u | bits << 8 & 0x200u | bits << 22 & 0x02000000u);
  }
}

void decode_q4_k(uint byte, uint unit, out vec4 f[8], out vec4 scale, out vec4 minimum) {
  byte += unit / 8 * 144;
  k_scales(quad_at(byte), unit % 8 / 2 * 2, scale, minimum);
  uvec4 words = quad_at(byte + 16 + unit % 8 * 16);
  UNROLL for (uint i = 0; i < 4; ++i) {
    f[i] = fractions(words[i] << 6 & 0x03C003C0u, words[i] >> 2 & 0x03C003C0u);
    f[4 + i] = fractions(words[i] << 2 & 0x03C003C0u, words[i] >> 6 & 0x03C003C0u);
  }
}

void decode_q5_k(uint byte, uint unit, out vec4 f[8], out vec4 scale, out vec4 minimum) {
  byte += unit / 8 * 176;
  uint j = unit % 8 / 2 * 2;  // the sub-block of the low nibbles, and the bit of its fifth bits
  k_scales(quad_at(byte), j, scale, minimum);
  uvec4 fifth = quad_at(byte + 16 + unit % 2 * 16) >> j, words = quad_at(byte + 48 + unit % 8 * 16);
  UNROLL for (uint i = 0; i < 4; ++i) {
    f[i] = fractions(words[i] << 5 & 0x01E001E0u | fifth[i] << 9 & 0x02000200u,
                     words[i] >> 3 & 0x01E001E0u | fifth[i] << 1 & 0x02000200u);
    f[4 + i] = fractions(words[i] << 1 & 0x01E001E0u | fifth[i] << 8 & 0x02000200u,
                         words[i] >> 7 & 0x01E001E0u | fifth[i] & 0x02000200u);
  }
}

void decode_q6_k(uint byte, uint unit, out vec4 f[8], out vec4 scale) {
  byte += unit / 8 * 210;
  uint of_half = unit % 8 / 4, eight = unit % 4;
  uvec2 low = pair_at(byte + 64 * of_half + 8 * eight), low32 = pair_at(byte + 64 * of_half + 32 + 8 * eight),
        high = pair_at(byte + 128 + 32 * of_half + 8 * eight);
  uvec2 scales = pair_at(byte + 192 + 8 * of_half) >> eight / 2 * 8;  // of the runs, in every other byte
  scale = vec4(ivec4(scales.x << 24, scales.x << 8, scales.y << 24, scales.y << 8) >> 24) *
          (half_at(byte + 208) * 64.0);
  UNROLL for (uint run = 0; run < 4; ++run)
    UNROLL for (uint i = 0; i < 2; ++i) {
      uint four = (run % 2 == 0 ? low[i] : low32[i]) >> run / 2 * 4, two = high[i] >> 2 * run;
      f[2 * run + i] = fractions(four << 4 & 0x00F000F0u | two << 8 & 0x03000300u,
                                 four >> 4 & 0x00F000F0u | two & 0x03000300u);
    }
}

void decode_unit(uint byte, uint unit, out vec4 f[8], out vec4 scale, out vec4 minimum) {
  minimum = vec4(0.0);
  switch (kTableType) {
    case TABLE_Q4_0: decode_q4_0(byte, unit, f, scale); break;
    case TABLE_Q5_0: decode_q5_0(byte, unit, f, scale); break;
    case TABLE_Q8_0: decode_q8_0(byte, unit, f, scale); break;
    case TABLE_Q4_K: decode_q4_k(byte, unit, f, scale, minimum); break;
    case TABLE_Q5_K: decode_q5_k(byte, unit, f, scale, minimum); break;
    default: decode_q6_k(byte, unit, f, scale);
  }
}
#endif
