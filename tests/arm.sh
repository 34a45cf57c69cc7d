#!/bin/sh
# Cross-compiles the engine's tests of the CPU backend for 64-bit ARM and runs them with qemu, so that the NEON kernels
# are checked without such a machine. It needs g++-aarch64-linux-gnu, qemu-user, libgtest-dev, libgmock-dev, libfmt-dev,
# libxxhash-dev and nlohmann-json3-dev. Run it in the top folder, after a build that made the test model:
#   tests/arm.sh [FOLDER [MODEL]]
set -eu
out=${1:-build/arm}
model=$(realpath "${2:-build/release/tests/test_model.gguf}")
mkdir -p "$out/include"
for header in fmt gtest gmock nlohmann xxhash.h; do ln -sfn "/usr/include/$header" "$out/include/$header"; done

sources="engine/*.cpp engine/cpu/*.cpp engine/hub/*.cpp engine/layouts/*.cpp engine/model/*.cpp engine/weights/*.cpp tests/support/no_vulkan.cpp"
sources="$sources tests/engine/cpu/*_test.cpp tests/engine/layouts/*_test.cpp"
sources="$sources tests/engine/*kernels_test.cpp tests/engine/session_test.cpp tests/engine/sampler_test.cpp"
googletest=/usr/src/googletest
# shellcheck disable=SC2086  # patterns
ls $sources $googletest/googletest/src/gtest-all.cc $googletest/googlemock/src/gmock_main.cc \
   $googletest/googlemock/src/gmock-all.cc |
  xargs -P "$(nproc)" -I{} sh -c 'aarch64-linux-gnu-g++ -std=c++20 -O2 -ffp-contract=off -Wno-psabi -c "$1" \
    -o "$2/$(echo "$1" | tr / _).o" -I. -Iengine -I"$2/include" -I"$4/googletest" -I"$4/googlemock" \
    -DFMT_HEADER_ONLY -DXXH_INLINE_ALL "-DBITNET_TEST_MODEL=\"$3\"" \
    "-DBITNET_ROWS=\"tests/engine/layouts/rows.txt\""' - {} "$out" "$model" $googletest
aarch64-linux-gnu-g++ "$out"/*.o -o "$out/engine_tests" -pthread -static
qemu-aarch64 -cpu max "$out/engine_tests" --gtest_brief=1 '--gtest_filter=-*Vulkan*:*Gpu*:*Subgroups*:*EmulatedMatrices*:*AnUnknownDevice*:*OtherBackend*'
