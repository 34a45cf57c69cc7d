// A quotient rounded up: how many workgroups, words or rows a count takes.
//
// Thread rule: a free function; any thread.
#pragma once

#include <cstdint>

namespace bitnet::vk {

constexpr uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

}  // namespace bitnet::vk
