#include "cpu/kernels.h"

#include <iterator>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace bitnet::cpu {

KernelChoices kernel_choices() {
#if defined(__x86_64__)
  static const bool sse4 = __builtin_cpu_supports("sse4.1");
  static const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  static const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
  static const KernelChoice choices[] = {{&kAvx512Kernels, avx512},
                                         {&kAvxVnniKernels, avx2 && __builtin_cpu_supports("avxvnni")},
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
