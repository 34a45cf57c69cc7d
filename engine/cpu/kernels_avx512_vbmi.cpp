// AVX-512 VNNI, and VBMI, with which 64 bytes are looked up at a time in a table of 64: Intel's servers since
// 2021, AMD since Zen 4. So five codes in a byte (Layout::fives16) are decoded in about the time that four of
// two bits take, and a token reads a fifth less.
#if defined(__x86_64__)
#include <immintrin.h>

#include "instructions.h"
#include "kernels.h"
#include "unpack_fives.h"

USE_INSTRUCTIONS("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx2,fma,f16c")

namespace bitnet::cpu {
namespace {

constexpr size_t kAhead = 8192;  // as in float_loops.h
constexpr size_t kNext = 1024;
constexpr int kToSecondCache = 2, kToFirstCache = 3;
constexpr uint32_t kGroup = 64, kFives = 5 * kGroup, kWords = kGroup / 4;
constexpr uint32_t kVector = 4 * kBandRows;  // bytes: a word of each row of a band

struct alignas(64) Table64 {
  uint8_t at[64];
};

// byte = r + 28 (c3 + 3 c4), where r = c0 + 3 c1 + 9 c2 is below 27: the upper six bits tell c3 and c4.
template <typename Value>
constexpr Table64 table(Value value) {
  Table64 t{};
  for (int i = 0; i < 64; ++i) t.at[i] = static_cast<uint8_t>(value(i));
  return t;
}
constexpr Table64 kFirst = table([](int r) { return r % 3; });
constexpr Table64 kSecond = table([](int r) { return r / 3 % 3; });
constexpr Table64 kThird = table([](int r) { return r / 9 % 3; });
constexpr Table64 kFourth = table([](int upper) { return upper / 7 % 3; });
constexpr Table64 kFifth = table([](int upper) { return upper / 21; });
constexpr Table64 kWithoutRest = table([](int upper) { return upper / 7 * 28; });

inline __m512i load(const void* from) { return _mm512_loadu_si512(from); }
inline __m512i look_up(const Table64& t, __m512i at) {
  return _mm512_permutexvar_epi8(at, _mm512_load_si512(t.at));
}
// Adds the products of codes and the four inputs there, over and over. There is no intrinsic for the form
// that repeats a word of memory by itself, and what compilers make of two (loads of their own, copies of
// sums) costs a band of one token 4 %. An assembler instruction that reads memory keeps an array of many sums
// there, too, so those of several tokens take the word from a register.
template <int kTokens>
inline __m512i add_products(__m512i sum, __m512i codes, const int8_t* q) {
  struct Word {
    int8_t inputs[4];
  };
  if constexpr (kTokens == 1) {
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(codes), "m"(*reinterpret_cast<const Word*>(q)));
  } else {
    int32_t word;
    __builtin_memcpy(&word, q, sizeof word);
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(_mm512_set1_epi32(word)));
  }
  return sum;
}

// The codes of five groups.
inline void decode(__m512i bytes, __m512i (&codes)[5]) {
  const __m512i upper = _mm512_srli_epi16(bytes, 2);
  const __m512i rest = _mm512_sub_epi8(bytes, look_up(kWithoutRest, upper));
  codes[0] = look_up(kFirst, rest);
  codes[1] = look_up(kSecond, rest);
  codes[2] = look_up(kThird, rest);
  codes[3] = look_up(kFourth, upper);
  codes[4] = look_up(kFifth, upper);
}

// The inputs of some tokens from a group on, of one plane or of q and the rest: where the sum of each group
// begins, which is minus the sum of its inputs, and what its scale is multiplied by. From a token to the next
// are n_in of q and n_in / kGroup of the others.
struct Groups {
  const int8_t* planes[2];
  const int32_t* first;
  const float* factors;
  size_t n_in;

  const int8_t* q_of(int plane, int token) const { return planes[plane] + n_in * static_cast<size_t>(token); }
  size_t at(int token, uint32_t group) const { return n_in / kGroup * static_cast<size_t>(token) + group; }
};

// Adds what groups give to the sums of a band. Its scales are loaded when they change.
template <int kTokens>
class Rounding {
 public:
  Rounding(const GroupRows& w, const uint16_t* scales)
      : scales_(scales), groups_a_scale_(w.scale_every / kGroup) {
    for (__m512i& sums : sums_) sums = _mm512_setzero_si512();
  }

  void begin_group() {
    if (left_ == 0) {
      __builtin_prefetch(scales_ + kAhead / kGroup * 4, 0, kToSecondCache);
      scale_ = _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales_)));
      scales_ += kBandRows;
      left_ = groups_a_scale_;
    }
    --left_;
  }
  // The factor is fetched where it is used, and so by the load port alone.
  void add(int token, __m512 total, const float* factor) {
    const __m512 exact = _mm512_mul_ps(total, _mm512_mul_ps(scale_, _mm512_set1_ps(*factor)));
    sums_[token] = _mm512_add_epi32(sums_[token], _mm512_cvtps_epi32(exact));
  }
  __m512i sums(int token) const { return sums_[token]; }

 private:
  const uint16_t* scales_;
  const uint32_t groups_a_scale_;
  uint32_t left_ = 0;  // groups of scale_
  __m512 scale_ = _mm512_setzero_ps();
  __m512i sums_[kTokens];
};

// Where the sum of a plane begins: that of the last one with the group's.
template <int kPlanes>
inline __m512i first_sum(const Groups& in, int plane, int token, uint32_t group) {
  return plane + 1 == kPlanes ? _mm512_set1_epi32(in.first[in.at(token, group)]) : _mm512_setzero_si512();
}

// A group's sum of all planes, which is below 2^22, so that nothing is rounded.
inline __m512 total_of(const __m512i (&planes)[1]) { return _mm512_cvtepi32_ps(planes[0]); }
inline __m512 total_of(const __m512i (&planes)[2]) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(planes[0]), _mm512_set1_ps(kRestSteps),
                         _mm512_cvtepi32_ps(planes[1]));
}

template <int kPlanes, int kTokens>
inline void add_fives(const uint8_t* codes, const Groups& in, Rounding<kTokens>& to) {
  __m512i sums[kTokens][5][kPlanes];
  for (int t = 0; t < kTokens; ++t)
    for (uint32_t g = 0; g < 5; ++g)
      for (int p = 0; p < kPlanes; ++p) sums[t][g][p] = first_sum<kPlanes>(in, p, t, g);
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kWords; ++i) {
    const uint8_t* at = codes + i * kVector;
    __builtin_prefetch(at + kAhead, 0, kToSecondCache);
    __builtin_prefetch(at + kNext, 0, kToFirstCache);
    __m512i code[5];
    decode(load(at), code);
    for (int t = 0; t < kTokens; ++t)
      for (uint32_t g = 0; g < 5; ++g)
        for (int p = 0; p < kPlanes; ++p)
          sums[t][g][p] = add_products<kTokens>(sums[t][g][p], code[g], in.q_of(p, t) + kGroup * g + 4 * i);
  }
  for (uint32_t g = 0; g < 5; ++g) {
    to.begin_group();
    for (int t = 0; t < kTokens; ++t) to.add(t, total_of(sums[t][g]), in.factors + in.at(t, g));
  }
}

// A group in two bits a code, as in Layout::groups16
template <int kPlanes, int kTokens>
inline void add_group(const uint8_t* codes, const Groups& in, Rounding<kTokens>& to) {
  const __m512i low = _mm512_set1_epi8(0x03);
  __m512i sums[kTokens][kPlanes];
  for (int t = 0; t < kTokens; ++t)
    for (int p = 0; p < kPlanes; ++p) sums[t][p] = first_sum<kPlanes>(in, p, t, 0);
  for (uint32_t i = 0; i < kGroup; i += 16) {
    const __m512i bits = load(codes + i * kVector / 16);
    const __m512i code[4] = {_mm512_and_si512(_mm512_srli_epi16(bits, 6), low),
                             _mm512_and_si512(_mm512_srli_epi16(bits, 4), low),
                             _mm512_and_si512(_mm512_srli_epi16(bits, 2), low), _mm512_and_si512(bits, low)};
    for (int t = 0; t < kTokens; ++t)
      for (uint32_t s = 0; s < 4; ++s)
        for (int p = 0; p < kPlanes; ++p)
          sums[t][p] = add_products<kTokens>(sums[t][p], code[s], in.q_of(p, t) + i + 4 * s);
  }
  to.begin_group();
  for (int t = 0; t < kTokens; ++t) to.add(t, total_of(sums[t]), in.factors + in.at(t, 0));
}

template <int kPlanes, int kTokens>
inline void band_of_rows(const GroupRows& w, const uint8_t* codes, const uint16_t* scales, const Groups& in,
                         size_t stride, int32_t* out) {
  Rounding<kTokens> to(w, scales);
  const auto from = [&](uint32_t i) {
    return Groups{{in.planes[0] + i, in.planes[kPlanes - 1] + i},
                  in.first + i / kGroup,
                  in.factors + i / kGroup,
                  in.n_in};
  };
  uint32_t i = 0;
  for (; i + kFives <= w.n_in; i += kFives, codes += kWords * kVector) add_fives<kPlanes>(codes, from(i), to);
  for (; i < w.n_in; i += kGroup, codes += kGroup * kBandRows / 4) add_group<kPlanes>(codes, from(i), to);
  for (int t = 0; t < kTokens; ++t) _mm512_storeu_si512(out + stride * static_cast<size_t>(t), to.sums(t));
}

size_t band_bytes(uint32_t n_in) {
  return n_in / kFives * kWords * kVector + n_in % kFives * (kBandRows / 4);
}

// Some tokens share what is decoded, and a band is in the first cache for the others. w.fixed is a power of
// two, so it makes no difference to which factor it goes.
void group_rows(const GroupRows& w, uint32_t n_bands, const UnitInputs& in, uint32_t n_tokens, size_t stride,
                int32_t* sums) {
  const size_t band_scales = w.n_in / w.scale_every * kBandRows, n_in = w.n_in;
  const uint32_t groups = w.n_in / kGroup, all = groups * n_tokens;
  auto* first = static_cast<int32_t*>(__builtin_alloca(all * sizeof(int32_t)));
  auto* factors = static_cast<float*>(__builtin_alloca(all * sizeof(float)));
  for (uint32_t g = 0; g < all; ++g) {
    first[g] = -in.sums[g];
    factors[g] = in.factors[g] * w.fixed;
  }
  for (uint32_t b = 0; b < n_bands; ++b) {
    uint32_t t = 0;
    const auto some = [&](auto take, uint32_t tokens) {
      for (; t + tokens <= n_tokens; t += tokens)
        take(w, w.codes + b * band_bytes(w.n_in), w.scales + b * band_scales,
             Groups{{in.q + n_in * t, in.rest ? in.rest + n_in * t : nullptr},
                    first + size_t{groups} * t,
                    factors + size_t{groups} * t,
                    n_in},
             stride, sums + stride * t + b * kBandRows);
    };
    if (in.rest) {
      some(band_of_rows<2, 2>, 2);
      some(band_of_rows<2, 1>, 1);
      continue;
    }
    some(band_of_rows<1, 3>, 3);
    some(band_of_rows<1, 2>, 2);
    some(band_of_rows<1, 1>, 1);
  }
}

// A band of the same rows with one scale: the products of all groups have one sum, which is exact. It is held
// in parts, so that few additions wait for the one before.
template <int kTokens>
inline void band_of_fives(const uint8_t* codes, uint32_t n_in, const int8_t* q, size_t stride, int32_t* out) {
  constexpr uint32_t kParts = kTokens <= 2 ? 5 : kTokens <= 4 ? 3 : 2;
  const __m512i low = _mm512_set1_epi8(0x03);
  __m512i sums[kTokens][kParts];
  for (auto& of_token : sums)
    for (__m512i& sum : of_token) sum = _mm512_setzero_si512();
  const auto load_ahead = [&] {
    __builtin_prefetch(codes + kAhead, 0, kToSecondCache);
    __builtin_prefetch(codes + kNext, 0, kToFirstCache);
    const __m512i bytes = load(codes);
    codes += kVector;
    return bytes;
  };
  const auto add = [&](uint32_t g, __m512i code, uint32_t input) {
    for (int t = 0; t < kTokens; ++t)
      sums[t][g % kParts] = add_products<kTokens>(sums[t][g % kParts], code, q + size_t{n_in} * t + input);
  };
  uint32_t i = 0;
  for (; i + kFives <= n_in; i += kFives)
#pragma GCC unroll 4
    for (uint32_t word = 0; word < kWords; ++word) {
      __m512i code[5];
      decode(load_ahead(), code);
      for (uint32_t g = 0; g < 5; ++g) add(g, code[g], i + kGroup * g + 4 * word);
    }
  for (; i < n_in; i += 16) {
    const __m512i bits = load_ahead();
    for (uint32_t s = 0; s < 4; ++s)
      add(s, _mm512_and_si512(_mm512_srl_epi16(bits, _mm_cvtsi32_si128(6 - 2 * s)), low), i + 4 * s);
  }
  for (int t = 0; t < kTokens; ++t) {
    __m512i all = sums[t][0];
    for (uint32_t part = 1; part < kParts; ++part) all = _mm512_add_epi32(all, sums[t][part]);
    _mm512_storeu_si512(out + stride * static_cast<size_t>(t), all);
  }
}

void fives_rows(const uint8_t* codes, uint32_t n_in, uint32_t n_bands, const int8_t* q, uint32_t n_tokens,
                size_t stride, int32_t* sums) {
  for (uint32_t b = 0; b < n_bands; ++b, codes += band_bytes(n_in), sums += kBandRows) {
    uint32_t t = 0;
    const auto some = [&](auto take, uint32_t tokens) {
      for (; t + tokens <= n_tokens; t += tokens)
        take(codes, n_in, q + size_t{n_in} * t, stride, sums + stride * t);
    };
    some(band_of_fives<8>, 8);
    some(band_of_fives<4>, 4);
    some(band_of_fives<3>, 3);
    some(band_of_fives<2>, 2);
    some(band_of_fives<1>, 1);
  }
}

void unpack_bands(const uint8_t* const* bands, uint32_t n_in, uint8_t* tile) {
  unpack_fives(bands, n_in, 0, tile);
}

}  // namespace

void unpack_fives(const uint8_t* const* bands, uint32_t n_in, int8_t less, uint8_t* tile) {
  constexpr uint32_t kStep = 4 * kTileRows;
  const __m512i low = _mm512_set1_epi8(0x03), subtrahend = _mm512_set1_epi8(less);
  const auto put = [&](uint8_t* to, __m512i codes) {
    _mm512_storeu_si512(to, _mm512_sub_epi8(codes, subtrahend));
  };
  for (uint32_t band = 0; band < kTileRows / kBandRows; ++band) {
    const uint8_t* codes = bands[band];
    uint8_t* to = tile + band * kVector;
    uint32_t i = 0;
    for (; i + kFives <= n_in; i += kFives, to += kFives / 4 * kStep)
      for (uint32_t word = 0; word < kWords; ++word, codes += kVector) {
        __m512i five[5];
        decode(load(codes), five);
        for (uint32_t g = 0; g < 5; ++g) put(to + (g * kWords + word) * kStep, five[g]);
      }
    for (; i < n_in; i += 16, codes += kVector, to += 4 * kStep) {
      const __m512i bits = load(codes);
      put(to, _mm512_and_si512(_mm512_srli_epi16(bits, 6), low));
      put(to + kStep, _mm512_and_si512(_mm512_srli_epi16(bits, 4), low));
      put(to + 2 * kStep, _mm512_and_si512(_mm512_srli_epi16(bits, 2), low));
      put(to + 3 * kStep, _mm512_and_si512(bits, low));
    }
  }
}

}  // namespace bitnet::cpu
USE_BASE_INSTRUCTIONS

// This runs on machines without all of that, too.
namespace bitnet::cpu {
namespace {

CpuKernels with_vbmi() {
  CpuKernels kernels = kAvx512Kernels;
  kernels.name = "avx512-vbmi";
  kernels.group_layout = Layout::fives16;
  kernels.fives_rows = fives_rows;
  kernels.unpack_fives = unpack_bands;
  kernels.group_rows = group_rows;
  kernels.unpack_bands = unpack_bands;
  return kernels;
}

}  // namespace

const CpuKernels& avx512_vbmi_kernels() {
  static const CpuKernels kernels = with_vbmi();
  return kernels;
}

}  // namespace bitnet::cpu
#endif
