// Numbers of a model file's metadata, each in its own type.
//
// Thread rule: a free function; any thread.
#pragma once

#include <cstdint>
#include <cstring>

#include "engine/gguf.h"

namespace bitnet {

// Gives the value to `take`, a function of any type of number, and says true; false if it is no number (a
// boolean is none). Requires: `value` was read from a file that is still open, as in Checkpoint::metadata().
template <typename Take>
bool take_number(const GgufValue& value, const Take& take) {
  const auto as = [&]<typename T>(T number) {
    std::memcpy(&number, value.raw.data(), sizeof number);
    take(number);
    return true;
  };
  switch (value.type) {
    case GgufType::u8:
      return as(uint8_t{});
    case GgufType::i8:
      return as(int8_t{});
    case GgufType::u16:
      return as(uint16_t{});
    case GgufType::i16:
      return as(int16_t{});
    case GgufType::u32:
      return as(uint32_t{});
    case GgufType::i32:
      return as(int32_t{});
    case GgufType::u64:
      return as(uint64_t{});
    case GgufType::i64:
      return as(int64_t{});
    case GgufType::f32:
      return as(float{});
    case GgufType::f64:
      return as(double{});
    case GgufType::boolean:
    case GgufType::string:
    case GgufType::array:
      break;
  }
  return false;
}

}  // namespace bitnet
