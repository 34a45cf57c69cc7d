#include "shared_memory.h"

#include <algorithm>
#include <unordered_map>

#include "engine/error.h"
#include "spirv.h"

namespace bitnet::vk {
namespace {

// Of the SPIR-V specification.
enum Op : uint32_t {
  kTypeBool = 20,
  kTypeInt = 21,
  kTypeFloat = 22,
  kTypeVector = 23,
  kTypeArray = 28,
  kTypeStruct = 30,
  kTypePointer = 32,
  kConstantTrue = 41,
  kConstantFalse = 42,
  kConstant = 43,
  kSpecConstantTrue = 48,
  kSpecConstantFalse = 49,
  kSpecConstant = 50,
  kSpecConstantComposite = 51,
  kSpecConstantOp = 52,
  kVariable = 59,
  kDecorate = 71,
  kCompositeExtract = 81,
  kIAdd = 128,
  kISub = 130,
  kIMul = 132,
  kUDiv = 134,
  kUMod = 137,
  kLogicalOr = 166,
  kLogicalAnd = 167,
  kLogicalNot = 168,
  kSelect = 169,
  kIEqual = 170,
  kINotEqual = 171,
  kUGreaterThan = 172,
  kUGreaterThanEqual = 174,
  kULessThan = 176,
  kULessThanEqual = 178,
  kShiftRightLogical = 194,
  kShiftLeftLogical = 196,
  kBitwiseOr = 197,
  kBitwiseAnd = 199,
  kNot = 200,
};
constexpr uint32_t kSpecId = 1, kStorageWorkgroup = 4;

uint32_t computed(uint32_t op, uint32_t a, uint32_t b, uint32_t c) {
  switch (op) {
    case kIAdd:
      return a + b;
    case kISub:
      return a - b;
    case kIMul:
      return a * b;
    case kUDiv:
      return b == 0 ? 0 : a / b;
    case kUMod:
      return b == 0 ? 0 : a % b;
    case kLogicalOr:
      return static_cast<uint32_t>(a != 0 || b != 0);
    case kLogicalAnd:
      return static_cast<uint32_t>(a != 0 && b != 0);
    case kLogicalNot:
      return static_cast<uint32_t>(a == 0);
    case kSelect:
      return a != 0 ? b : c;
    case kIEqual:
      return static_cast<uint32_t>(a == b);
    case kINotEqual:
      return static_cast<uint32_t>(a != b);
    case kUGreaterThan:
      return static_cast<uint32_t>(a > b);
    case kUGreaterThanEqual:
      return static_cast<uint32_t>(a >= b);
    case kULessThan:
      return static_cast<uint32_t>(a < b);
    case kULessThanEqual:
      return static_cast<uint32_t>(a <= b);
    case kShiftRightLogical:
      return a >> (b & 31);
    case kShiftLeftLogical:
      return a << (b & 31);
    case kBitwiseOr:
      return a | b;
    case kBitwiseAnd:
      return a & b;
    case kNot:
      return ~a;
    default:
      throw Error(ErrorKind::runtime, "a kernel has shared memory of a size that cannot be read");
  }
}

}  // namespace

SharedMemory::SharedMemory(std::span<const uint32_t> spirv) {
  std::unordered_map<uint32_t, uint32_t> spec_ids, known;  // by id: the expression
  std::unordered_map<uint32_t, std::vector<uint32_t>> composites;
  std::unordered_map<uint32_t, uint32_t> pointees;  // of pointers to shared memory: the type
  const auto at = [&](uint32_t id) { return known.count(id) != 0 ? known[id] : 0; };
  const auto add = [&](const Expression& e) {
    expressions_.push_back(e);
    return static_cast<uint32_t>(expressions_.size() - 1);
  };
  const auto constant = [&](uint32_t value) { return add({kConstant, value, 0, {}}); };
  add({});  // what nobody can compute
  for (size_t i = kSpirvHeaderWords; i < spirv.size() && spirv[i] >> 16 != 0; i += spirv[i] >> 16) {
    const uint32_t op = spirv[i] & 0xFFFF;
    const std::span<const uint32_t> args = spirv.subspan(i + 1, (spirv[i] >> 16) - 1);
    switch (op) {
      case kDecorate:
        if (args[1] == kSpecId) spec_ids[args[0]] = args[2];
        break;
      case kTypeBool:
        known[args[0]] = constant(sizeof(uint32_t));
        break;
      case kTypeInt:
      case kTypeFloat:
        known[args[0]] = constant(args[1] / 8);
        break;
      case kTypeVector:
        known[args[0]] = add({kIMul, 0, 0, {at(args[1]), constant(args[2])}});
        break;
      case kTypeArray:
        known[args[0]] = add({kIMul, 0, 0, {at(args[1]), at(args[2])}});
        break;
      case kTypeStruct: {
        uint32_t size = constant(0);
        for (const uint32_t member : args.subspan(1)) size = add({kIAdd, 0, 0, {size, at(member)}});
        known[args[0]] = size;
        break;
      }
      case kTypePointer:
        if (args[1] == kStorageWorkgroup) pointees[args[0]] = args[2];
        break;
      case kConstantTrue:
        known[args[1]] = constant(1);
        break;
      case kConstantFalse:
        known[args[1]] = constant(0);
        break;
      case kConstant:
        known[args[1]] = constant(args[2]);
        break;
      case kSpecConstantTrue:
      case kSpecConstantFalse:
      case kSpecConstant: {
        const uint32_t value = op == kSpecConstant ? args[2] : static_cast<uint32_t>(op == kSpecConstantTrue);
        const bool has_id = spec_ids.count(args[1]) != 0;
        known[args[1]] = add({has_id ? kSpecConstant : kConstant, value, has_id ? spec_ids[args[1]] : 0, {}});
        break;
      }
      case kSpecConstantComposite:
        composites[args[1]].assign(args.begin() + 2, args.end());
        break;
      case kSpecConstantOp: {
        if (args[2] == kCompositeExtract && composites.count(args[3]) != 0) {
          known[args[1]] = at(composites[args[3]][args[4]]);
          break;
        }
        Expression e{args[2], 0, 0, {}};
        for (size_t k = 0; k < std::min(args.size() - 3, e.operands.size()); ++k)
          e.operands[k] = at(args[3 + k]);
        known[args[1]] = add(e);
        break;
      }
      case kVariable:
        if (args[2] == kStorageWorkgroup) variables_.push_back(at(pointees[args[0]]));
        break;
      default:
        break;
    }
  }
}

uint64_t SharedMemory::bytes(const std::map<uint32_t, uint32_t>& constants) const {
  std::vector<uint32_t> values;
  values.reserve(expressions_.size());
  for (const Expression& e : expressions_) {
    uint32_t value = e.value;
    if (e.op == kSpecConstant) {
      const auto given = constants.find(e.spec_id);
      if (given != constants.end()) value = given->second;
    } else if (e.op != kConstant && e.op != 0) {
      const auto [a, b, c] = e.operands;
      value = computed(e.op, values[a], values[b], values[c]);
    }
    values.push_back(value);
  }
  uint64_t bytes = 0;
  for (const uint32_t variable : variables_) bytes += (uint64_t{values[variable]} + 15) / 16 * 16;
  return bytes;
}

}  // namespace bitnet::vk
