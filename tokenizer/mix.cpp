#include "mix.h"

#include <chrono>
#include <cstring>
#include <exception>
#include <random>

namespace bitnet {
namespace {

__extension__ using Wide = unsigned __int128;

uint64_t random_bits() {
  static const char kSomewhere = 0;
  const auto now = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  const uint64_t known = mix(now ^ reinterpret_cast<uintptr_t>(&kSomewhere));
  try {
    std::random_device device;
    return known ^ (static_cast<uint64_t>(device()) << 32 | device());
  } catch (const std::exception&) {  // where the system gives none
    return known;
  }
}

}  // namespace

uint64_t hash_seed() {
  static const uint64_t seed = random_bits();
  return seed;
}

size_t hash_bytes(std::string_view bytes, uint64_t seed) {
  constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  const uint64_t place = seed & kPrime;
  uint64_t sum = bytes.size();
  const auto add = [&](uint64_t coefficient) {
    const Wide product = static_cast<Wide>(sum + coefficient) * place;
    sum = static_cast<uint64_t>(product & kPrime) + static_cast<uint64_t>(product >> 61);
    sum = (sum & kPrime) + (sum >> 61);
  };
  for (; bytes.size() >= 8; bytes.remove_prefix(7)) {
    uint64_t seven = 0;
    std::memcpy(&seven, bytes.data(), sizeof seven);
    add(seven & ((uint64_t{1} << 56) - 1));
  }
  uint64_t rest = 0;
  for (const char byte : bytes) rest = rest << 8 | static_cast<uint8_t>(byte);
  add(rest);
  return mix(sum ^ seed);
}

}  // namespace bitnet
