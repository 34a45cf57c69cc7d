#include "kernels.h"

#include <iterator>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace bitnet::cpu {
#if defined(__x86_64__)
namespace {

struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
// What the CPU says of itself at a leaf; zeros where it has none.
Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
  return r;
}

// A process has to ask Linux for permission, since the tile registers make the saved state of a thread 8 KB
// larger.
bool may_use_amx() {
  constexpr unsigned kTile = 1U << 24, kInt8 = 1U << 25;  // of edx
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  const unsigned d = cpuid(7, 0).d;
  return (d & kTile) != 0 && (d & kInt8) != 0 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// __builtin_cpu_supports of Clang 14 does not know these two. That Linux saves the registers, AVX2 says.
bool has_f16c() { return (cpuid(1, 0).c & bit_F16C) != 0; }
bool has_avx_vnni() {
  constexpr unsigned kAvxVnni = 1U << 4;  // of eax
  return (cpuid(7, 1).a & kAvxVnni) != 0;
}

}  // namespace
#endif

KernelChoices kernel_choices() {
#if defined(__x86_64__)
  static const bool sse4 = __builtin_cpu_supports("sse4.1");
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  static const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  static const bool vbmi = avx512 && __builtin_cpu_supports("avx512vbmi");
  static const KernelChoice choices[] = {{&amx_kernels(), vbmi && may_use_amx()},
                                         {&avx512_vbmi_kernels(), vbmi},
                                         {&kAvx512Kernels, avx512},
                                         {&kAvxVnniKernels, avx2 && has_avx_vnni()},
                                         {&kAvx2Kernels, avx2},
                                         {&kSse4Kernels, sse4},
                                         {&kScalarKernels, true}};
#elif defined(__aarch64__)
  static const bool dot_product = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  static const KernelChoice choices[] = {{&kNeonKernels, dot_product}, {&kScalarKernels, true}};
#else
  static const KernelChoice choices[] = {{&kScalarKernels, true}};
#endif
  return {std::begin(choices), std::end(choices)};
}

}  // namespace bitnet::cpu
