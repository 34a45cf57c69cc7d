// Which instructions functions of a file may use: those between USE_INSTRUCTIONS("avx2,fma") and
// USE_BASE_INSTRUCTIONS may use these, and only what a CPU is known to have may call them. Headers that other
// files include stay outside, so that none of these calls a copy of an inline function that its CPU cannot
// run.
#pragma once

#define BITNET_PRAGMA(...) _Pragma(#__VA_ARGS__)
#ifdef __clang__
#define USE_INSTRUCTIONS(FEATURES) \
  BITNET_PRAGMA(clang attribute push(__attribute__((target(FEATURES))), apply_to = function))
#define USE_BASE_INSTRUCTIONS BITNET_PRAGMA(clang attribute pop)
#else
#define USE_INSTRUCTIONS(FEATURES) BITNET_PRAGMA(GCC push_options) BITNET_PRAGMA(GCC target(FEATURES))
#define USE_BASE_INSTRUCTIONS BITNET_PRAGMA(GCC pop_options)
#endif
