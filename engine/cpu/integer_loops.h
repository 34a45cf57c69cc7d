// The integer loops of kernels.h. They are written once, and each kernels_*.cpp includes them inside its own
// namespace after it has defined:
//   Bytes                     a native vector of kBytes bytes (16, 32 or 64)
//   load_bytes, store_bytes, all_bytes(b), both(a, b) = a & b
//   shift_right<n>(a)         each byte shifted by n; what comes in from above is undefined
//   transpose_words(rows, i, words)
//                             the 8 words at byte i of kBytes / 4 rows: words[w] has word w of each row
//   repeat_word(from)         the four bytes there, over and over
//   load_activations(q, i)    the kBytes activations that meet the codes at one shift of the bytes i .. of a
//                             row: 32 of each 128-block, where q is 32 s into the row
//   load_last_bytes, load_last_activations
//                             32 of them and zeros, where kBytes is 64 and 32 are left
//   Sums, no_sums()           running sums of dot(Sums, codes, q): codes are bytes 0 to 8, q is signed. Where
//   there is an
//                             instruction for it, it is written as such: what GCC 12 makes of the intrinsic
//                             copies the sums of a tile in each step, or keeps them in memory, which makes a
//                             prompt 1.5 times as slow
//   dot_activations(Sums, codes, q, i), store_totals(Words[4], to, stride)
//                             only where they are faster than those that follow
//   with_quarter(Sums a, b)   a + b / 4, where each lane of b is a multiple of 4
//   kFlush                    as many dots of codes up to 2 fit into Sums; of codes up to 8 a quarter as many
//   Words, no_words(), add_words(Words, Sums)
//                             32-bit sums, to which Sums are added
//   total(Words)              the sum over all lanes
//   add_up(Words, Words)      the sums lane by lane
//   as_words(Bytes)           the same bits
//   load_widened(from)        kBytes / 2 signed bytes as 16 bits each
//   dot_words(Words, a, b)    adds the products of 16-bit lanes
//   store_words(to, Words)    kBytes / 4 of int32, each the sum of four neighbouring products
//   kTileVectors, kTileTokens the block of sums that fits the registers; kTileVectors * kBytes divides
//                             4 * kTileRows
//   kRowsAtOnce               rows that share a load of the activations
// Everything is exact, so the order of the sums is free. Codes at the shifts 0 and 4 of a byte are masked out
// as they are; those at 2 and 6 are masked out as four times the code, which saves two shifts of four. The
// two kinds have sums of their own.

template <typename SomeSums>
inline SomeSums dot_activations(SomeSums sums, Bytes codes, const int8_t* q, size_t i) {
  return dot(sums, codes, load_activations(q, i));
}

template <int kSums>
inline void store_totals(const Words (&words)[kSums], int32_t* to, size_t stride) {
  for (int i = 0; i < kSums; ++i) to[i * stride] = total(words[i]);
}

// Adds what a vector of codes gives, for kRows rows or kTokens tokens. One of both numbers is 1.
template <bool kWhole, int kRows, int kTokens>
inline __attribute__((always_inline)) void add_dots(const uint8_t* codes, uint32_t n_in, const int8_t* q,
                                                    size_t i, Sums* one, Sums* four) {
  const Bytes low = all_bytes(0x03), high = all_bytes(0x0C);
  const auto meet = [i](Sums & sum, Bytes code, const int8_t* from) __attribute__((always_inline)) {
    if constexpr (!kWhole) {
      sum = dot(sum, code, load_last_activations(from, i));
    } else if constexpr (kRows > 1) {  // which share a load
      sum = dot(sum, code, load_activations(from, i));
    } else {
      sum = dot_activations(sum, code, from, i);
    }
  };
  for (int r = 0; r < kRows; ++r) {
    const uint8_t* at = codes + size_t{n_in} / 4 * r + i;
    const Bytes bits = kWhole ? load_bytes(at) : load_last_bytes(at), upper = shift_right<4>(bits);
    const Bytes at_0 = both(bits, low), at_2 = both(bits, high), at_4 = both(upper, low),
                at_6 = both(upper, high);
    for (int t = 0; t < kTokens; ++t, ++one, ++four) {
      const int8_t* meets = q + size_t{n_in} * t;  // those at shifts 6, 4, 2, 0
      meet(*one, at_0, meets + 96);
      meet(*four, at_2, meets + 64);
      meet(*one, at_4, meets + 32);
      meet(*four, at_6, meets);
    }
  }
}

// Rows times tokens, for which the codes are masked out once.
template <int kRows, int kTokens>
inline void rows_block(const uint8_t* codes, uint32_t n_in, const int8_t* q, size_t stride, int32_t* sums) {
  constexpr int kSums = kRows * kTokens;
  const size_t row_bytes = n_in / 4;
  Words words[kSums];  // GCC would set them to zero with an instruction that takes as long as 200 inputs
  const uint8_t* ahead = codes + kAhead;  // byte after byte, although the rows go side by side
  for (size_t i = 0; i < row_bytes;) {
    const bool is_first = i == 0;
    const size_t end = row_bytes - i > kFlush / 8 * kBytes ? i + kFlush / 8 * kBytes : row_bytes;
    Sums one[kSums], four[kSums];
    for (int s = 0; s < kSums; ++s) one[s] = four[s] = no_sums();
    for (; i + kBytes <= end; i += kBytes) {
      for (int r = 0; r < kRows; ++r, ahead += kBytes) __builtin_prefetch(ahead, 0, kToSecondCache);
      add_dots<true, kRows, kTokens>(codes, n_in, q, i, one, four);
    }
    if constexpr (kBytes > 32)
      if (i < end) {
        add_dots<false, kRows, kTokens>(codes, n_in, q, i, one, four);
        i = end;
      }
    for (int s = 0; s < kSums; ++s)
      words[s] = add_words(is_first ? no_words() : words[s], with_quarter(one[s], four[s]));
  }
  store_totals(words, sums, kTokens == 1 ? 1 : stride);
}

inline void unpack_tile(const uint8_t* const* rows, uint32_t n_in, uint8_t* tile) {
  constexpr uint32_t kStep = 4 * kTileRows;
  const Bytes low = all_bytes(0x03);
  for (uint32_t i = 0; i < n_in / 4; i += 32)
    for (uint32_t row = 0; row < kTileRows; row += kBytes / 4) {
      Bytes words[8];
      transpose_words(rows + row, i, words);
      uint8_t* to = tile + size_t{i} * kStep + 4 * row;
      for (int w = 0; w < 8; ++w) {
        store_bytes(to + w * kStep, both(shift_right<6>(words[w]), low));
        store_bytes(to + (8 + w) * kStep, both(shift_right<4>(words[w]), low));
        store_bytes(to + (16 + w) * kStep, both(shift_right<2>(words[w]), low));
        store_bytes(to + (24 + w) * kStep, both(words[w], low));
      }
    }
}

template <int kTokens>
inline void tile_block(const uint8_t* tile, uint32_t n_in, const int8_t* q, int32_t* sums) {
  constexpr uint32_t kStep = 4 * kTileRows;
  Words words[kTokens][kTileVectors];
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kTileVectors; ++v) words[t][v] = no_words();
  for (uint32_t i = 0; i < n_in / 4;) {
    const uint32_t end = n_in / 4 - i > kFlush ? i + kFlush : n_in / 4;
    Sums block[kTokens][kTileVectors];
    for (int t = 0; t < kTokens; ++t)
      for (int v = 0; v < kTileVectors; ++v) block[t][v] = no_sums();
    for (; i < end; ++i) {
      Bytes codes[kTileVectors];
      for (int v = 0; v < kTileVectors; ++v) codes[v] = load_bytes(tile + size_t{i} * kStep + v * kBytes);
      for (int t = 0; t < kTokens; ++t) {
        const Bytes word = repeat_word(q + size_t{n_in} * t + 4 * i);
        for (int v = 0; v < kTileVectors; ++v) block[t][v] = dot(block[t][v], codes[v], word);
      }
    }
    for (int t = 0; t < kTokens; ++t)
      for (int v = 0; v < kTileVectors; ++v) words[t][v] = add_words(words[t][v], block[t][v]);
  }
  for (int t = 0; t < kTokens; ++t)
    for (int v = 0; v < kTileVectors; ++v) store_words(sums + t * kTileRows + v * (kBytes / 4), words[t][v]);
}

inline void tile_product(const uint8_t* tile, uint32_t n_in, const int8_t* q, uint32_t n_tokens,
                         int32_t* sums) {
  constexpr uint32_t kBlockRows = kTileVectors * kBytes / 4;
  for (uint32_t row = 0; row < kTileRows; row += kBlockRows) {
    uint32_t t = 0;
    for (; t + kTileTokens <= n_tokens; t += kTileTokens)
      tile_block<kTileTokens>(tile + 4 * row, n_in, q + size_t{n_in} * t, sums + t * kTileRows + row);
    for (; t + 4 <= n_tokens; t += 4)
      tile_block<4>(tile + 4 * row, n_in, q + size_t{n_in} * t, sums + t * kTileRows + row);
    for (; t < n_tokens; ++t)
      tile_block<1>(tile + 4 * row, n_in, q + size_t{n_in} * t, sums + t * kTileRows + row);
  }
}

inline uint64_t read(const std::byte* from, size_t bytes) {
  constexpr size_t kStep = 64, kNear = 3072;  // the best of 0 to 8192
  Words sums[4] = {no_words(), no_words(), no_words(), no_words()};
  for (size_t i = 0; i < bytes; i += kStep) {
    __builtin_prefetch(from + i + kNear, 0, kToSecondCache);
    for (size_t at = 0; at < kStep; at += kBytes)
      sums[at / kBytes] = add_up(sums[at / kBytes], as_words(load_bytes(from + i + at)));
  }
  return static_cast<uint64_t>(total(add_up(add_up(sums[0], sums[1]), add_up(sums[2], sums[3]))));
}

template <int kRows>
inline void int8_block(const int8_t* rows, uint32_t n, const int16_t* p, int32_t* sums) {
  constexpr uint32_t kStep = kBytes / 2;
  Words a[kRows], b[kRows];
  for (int r = 0; r < kRows; ++r) a[r] = b[r] = no_words();
  const int8_t* ahead = rows + kAhead;
  for (uint32_t i = 0; i < n; i += 2 * kStep) {
    const Bytes p0 = load_bytes(p + i), p1 = load_bytes(p + i + kStep);
    for (int r = 0; r < kRows; ++r) {
      const int8_t* at = rows + size_t{n} * r + i;
      __builtin_prefetch(ahead, 0, kToSecondCache);
      ahead += kBytes;
      a[r] = dot_words(a[r], load_widened(at), p0);
      b[r] = dot_words(b[r], load_widened(at + kStep), p1);
    }
  }
  for (int r = 0; r < kRows; ++r) sums[r] = total(add_up(a[r], b[r]));
}

// As int8_block, of kVectors vectors, for which a code is widened once.
template <int kRows, int kVectors>
inline void int8_block_of(const int8_t* rows, uint32_t n, uint32_t n_rows, const int16_t* const* p,
                          int32_t* sums) {
  constexpr uint32_t kStep = kBytes / 2;
  Words words[kVectors][kRows];
  for (int v = 0; v < kVectors; ++v)
    for (int r = 0; r < kRows; ++r) words[v][r] = no_words();
  for (uint32_t i = 0; i < n; i += kStep) {
    Bytes vectors[kVectors];
    for (int v = 0; v < kVectors; ++v) vectors[v] = load_bytes(p[v] + i);
    for (int r = 0; r < kRows; ++r) {
      const int8_t* at = rows + size_t{n} * r + i;
      if (i % kBytes == 0) __builtin_prefetch(at + kAhead, 0, kToSecondCache);
      const Bytes codes = load_widened(at);
      for (int v = 0; v < kVectors; ++v) words[v][r] = dot_words(words[v][r], codes, vectors[v]);
    }
  }
  for (int v = 0; v < kVectors; ++v)
    for (int r = 0; r < kRows; ++r) sums[size_t{n_rows} * v + r] = total(words[v][r]);
}

inline void int8_rows(const int8_t* rows, uint32_t n, uint32_t n_rows, const int16_t* const* p,
                      uint32_t n_vectors, int32_t* sums) {
  constexpr int kVectors = 4, kRows = kBytes == 64 ? 4 : 2;  // whose sums fit the registers
  for (; n_vectors >= kVectors; n_vectors -= kVectors, p += kVectors, sums += size_t{kVectors} * n_rows) {
    uint32_t r = 0;
    for (; r + kRows <= n_rows; r += kRows)
      int8_block_of<kRows, kVectors>(rows + size_t{n} * r, n, n_rows, p, sums + r);
    for (; r < n_rows; ++r) int8_block_of<1, kVectors>(rows + size_t{n} * r, n, n_rows, p, sums + r);
  }
  // With AVX-512 it is memory that limits, and two rows at a time are read faster than four.
  constexpr int kOfOne = kBytes == 64 ? 2 : kRowsAtOnce;
  for (; n_vectors != 0; --n_vectors, ++p, sums += n_rows) {
    uint32_t r = 0;
    for (; r + kOfOne <= n_rows; r += kOfOne) int8_block<kOfOne>(rows + size_t{n} * r, n, *p, sums + r);
    for (; r < n_rows; ++r) int8_block<1>(rows + size_t{n} * r, n, *p, sums + r);
  }
}

template <int kRows, int kTokens>
__attribute__((noinline)) void rows_of(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q,
                                       size_t stride, int32_t* sums) {
  uint32_t r = 0;
  for (; r + kRows <= n_rows; r += kRows)
    rows_block<kRows, kTokens>(codes + size_t{n_in} / 4 * r, n_in, q, stride, sums + r);
  if constexpr (kRows > 1)
    for (; r < n_rows; ++r) rows_block<1, kTokens>(codes + size_t{n_in} / 4 * r, n_in, q, stride, sums + r);
}

// Behind the first tokens the codes come from a cache.
inline void ternary_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_rows, const int8_t* q,
                         uint32_t n_tokens, size_t stride, int32_t* sums) {
  const auto some = [&](auto take, uint32_t tokens) {
    for (; n_tokens >= tokens; n_tokens -= tokens, q += size_t{n_in} * tokens, sums += stride * tokens)
      take(codes, n_in, n_rows, q, stride, sums);
  };
  some(rows_of<1, 4>, 4);
  some(rows_of<1, 2>, 2);
  some(rows_of<kRowsAtOnce, 1>, 1);
}
