#include "file_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "rows.h"

namespace bitnet {
namespace {

using namespace layouts;

constexpr FileType kFileTypes[] = {
    {0, "f32", 1, 4, 0, f32_floats},
    {1, "f16", 1, 2, 0, f16_floats},
    {2, "q4_0", 32, 18, 0, q4_0_floats},
    {3, "q4_1", 32, 20},
    {6, "q5_0", 32, 22, 0, q5_0_floats},
    {7, "q5_1", 32, 24},
    {8, "q8_0", 32, 34, 0, q8_0_floats},
    {9, "q8_1", 32, 36},
    {10, "q2_k", 256, 84},
    {11, "q3_k", 256, 110},
    {12, "q4_k", 256, 144, 0, q4_k_floats},
    {13, "q5_k", 256, 176, 0, q5_k_floats},
    {14, "q6_k", 256, 210, 0, q6_k_floats},
    {15, "q8_k", 256, 292},
    {16, "iq2_xxs", 256, 66},
    {17, "iq2_xs", 256, 74},
    {18, "iq3_xxs", 256, 98},
    {19, "iq1_s", 256, 50},
    {20, "iq4_nl", 32, 18},
    {21, "iq3_s", 256, 110},
    {22, "iq2_s", 256, 82},
    {23, "iq4_xs", 256, 136},
    {24, "i8", 1, 1},
    {25, "i16", 1, 2},
    {26, "i32", 1, 4},
    {27, "i64", 1, 8},
    {28, "f64", 1, 8},
    {29, "iq1_m", 256, 56},
    {30, "bf16", 1, 2, 0, bf16_floats},
    {34, "tq1_0", 256, 54, 0, tq1_0_floats, 256, tq1_0_trits},
    {35, "tq2_0", 256, 66, 0, tq2_0_floats, 256, tq2_0_trits},
    {36, "i2_s", 64, 16, 32, i2_s_floats, 128, i2_s_trits},
    {38, "tl1"},
    {39, "mxfp4", 32, 17},  // in files of bitnet.cpp it is tl2, whose tensors are shorter
    {41, "q1_0", 128, 18, 0, q1_0_floats, 128, q1_0_trits},
    {42, "q2_0", 64, 18, 0, q2_0_floats, 64, q2_0_trits},
    {kQ2_0By128, "q2_0 (128)", 128, 34, 0, q2_0_by_128_floats, 128, q2_0_by_128_trits},
    {142, "pq2_0", 128, 34, 0, q2_0_by_128_floats, 128, q2_0_by_128_trits},
    {143, "ptq1_0", 128, 28, 0, ptq1_0_floats, 128, ptq1_0_trits, "a byte that is not five digits to base 3"},
};

// The types that have a function, as a sentence lists them: "A, B or C".
template <typename Has>
std::string list_of(const Has& has) {
  std::vector<std::string> names;
  for (const FileType& type : kFileTypes)
    if (has(type) && type.id != kQ2_0By128) names.push_back(shown_name(TensorType{type.id}));
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

std::string why_no_projection(uint32_t id, const std::string& name) {
  switch (id) {
    case 38:
      return "has type TL1, which cannot be run; use the model's i2_s file";
    case 39:
      return "has type MXFP4 or TL2, which share a number and cannot be run; use the model's i2_s file";
    default:
      return fmt::format(
          "has type {}, which cannot be run, wanted {}; llama-quantize q4_k_m makes such a file", name,
          list_of([](const FileType& t) { return t.floats != nullptr; }));
  }
}

}  // namespace

const FileType* find_file_type(TensorType type) {
  const auto* found = std::ranges::find(kFileTypes, static_cast<uint32_t>(type), &FileType::id);
  return found == std::end(kFileTypes) ? nullptr : found;
}

std::string shown_name(TensorType type) {
  const FileType* known = find_file_type(type);
  std::string name = known ? known->name : fmt::format("type {}", static_cast<uint32_t>(type));
  if (known) std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

void row_floats(TensorType type, const std::byte* row, size_t n, float* out) {
  find_file_type(type)->floats(row, n, out);
}

bool trits(TensorType type, const std::byte* row, size_t n, uint8_t* codes, uint16_t* scales) {
  return find_file_type(type)->trits(row, n, codes, scales);
}

std::string why_not(TensorType type, TensorRole role) {
  const FileType* known = find_file_type(type);
  const auto id = static_cast<uint32_t>(type);
  const std::string name = shown_name(type);
  switch (role) {
    case TensorRole::norm:
      return id == 0 ? "" : fmt::format("has type {}, wanted F32", name);
    case TensorRole::projection:
      return known && known->floats ? "" : why_no_projection(id, name);
    case TensorRole::embedding:
    case TensorRole::head:
      if (known && known->floats) return "";
      return fmt::format("has type {}, wanted {}; llama-quantize {} q6_k makes such a file", name,
                         list_of([](const FileType& t) { return t.floats != nullptr; }),
                         role == TensorRole::head ? "--output-tensor-type" : "--token-embedding-type");
  }
  return "";
}

}  // namespace bitnet
