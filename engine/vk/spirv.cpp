#include "spirv.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "engine/error.h"
#include "shaders/params.h"

namespace bitnet::vk {
namespace {

// The opcodes and numbers of the SPIR-V specification that the reading needs.
enum : uint32_t {
  kMagic = 0x07230203,
  kOpExtension = 10,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpFunctionEnd = 56,
  kOpVariable = 59,
  kOpDecorate = 71,
  kDecorationSpecId = 1,
  kDecorationBinding = 33,
  kStoragePushConstant = 9,
  kModeSubgroupUniformControlFlow = 4421,
  kModeLocalSize = 17,
  kCapabilityGroupNonUniform = 61,
  kCapabilityCooperativeMatrix = 6022,
};

// The fewest operands of an instruction that is looked at.
size_t least_operands(uint32_t opcode) {
  switch (opcode) {
    case kOpCapability:
    case kOpTypeStruct:
      return 1;
    case kOpEntryPoint:
    case kOpExecutionMode:
    case kOpDecorate:
      return 2;
    case kOpTypePointer:
    case kOpVariable:
      return 3;
    default:
      return 0;
  }
}

// Nullopt where the file is not there.
std::optional<std::vector<uint32_t>> read_words(const std::filesystem::path& path) {
  const auto refuse = [&](const char* problem) -> void {
    throw Error(ErrorKind::runtime,
                fmt::format("BITNET_CHAT_SHADERS: {} {}; compile it again or take it out of the folder",
                            printable(path.string()), problem));
  };
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return std::nullopt;
  if (!std::filesystem::is_regular_file(path, error)) refuse("is no file");
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) refuse("cannot be read");
  std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint32_t));
  if (bytes.size() % sizeof(uint32_t) != 0 || !read_shape(words)) refuse("is not SPIR-V");
  return words;
}

}  // namespace

std::optional<KernelShape> read_shape(std::span<const uint32_t> spirv) {
  if (spirv.size() <= kSpirvHeaderWords || spirv[0] != kMagic) return std::nullopt;
  KernelShape shape;
  uint32_t last = 0;
  std::map<uint32_t, uint32_t> struct_bytes, pointee;
  const auto bytes_of = [&](uint32_t type) {
    const auto found = struct_bytes.find(type);
    return found == struct_bytes.end() ? uint32_t{sizeof(uint32_t)} : found->second;
  };
  for (size_t at = kSpirvHeaderWords; at < spirv.size();) {
    const uint32_t opcode = spirv[at] & 0xFFFF, words = spirv[at] >> 16;
    if (words == 0 || words > spirv.size() - at || words - 1 < least_operands(opcode)) return std::nullopt;
    const auto args = spirv.subspan(at + 1, words - 1);
    if (opcode == kOpDecorate && args[1] == kDecorationBinding) ++shape.n_bindings;
    if (opcode == kOpCapability &&
        (args[0] == kCapabilityGroupNonUniform || args[0] == kCapabilityCooperativeMatrix))
      shape.subgroups = true;
    if (opcode == kOpExecutionMode && args[1] == kModeLocalSize && args.size() > 2)
      shape.invocations = args[2];
    if (opcode == kOpDecorate && args[1] == kDecorationSpecId && args.size() > 2 &&
        args[2] == CONSTANT_WORKGROUP_SIZE)
      shape.invocations = 0;
    if (opcode == kOpTypeStruct) {
      uint32_t bytes = 0;
      for (const uint32_t member : args.subspan(1)) bytes += bytes_of(member);
      struct_bytes[args[0]] = bytes;
    }
    if (opcode == kOpTypePointer) pointee[args[0]] = args[2];
    if (opcode == kOpVariable && args[2] == kStoragePushConstant) {
      const auto found = pointee.find(args[0]);
      if (found == pointee.end()) return std::nullopt;
      shape.push_bytes = bytes_of(found->second);
    }
    last = opcode;
    at += words;
  }
  if (last != kOpFunctionEnd) return std::nullopt;  // a module that was cut
  return shape;
}

std::vector<uint32_t> reconverging(std::span<const uint32_t> spirv) {
  constexpr std::string_view kName = "SPV_KHR_subgroup_uniform_control_flow";
  std::vector<uint32_t> name(kName.size() / sizeof(uint32_t) + 1);  // ends with a zero
  std::memcpy(name.data(), kName.data(), kName.size());
  std::vector<uint32_t> out(spirv.begin(), spirv.begin() + kSpirvHeaderWords);
  const auto put = [&out](uint32_t opcode, std::span<const uint32_t> args) {
    out.push_back(static_cast<uint32_t>(args.size() + 1) << 16 | opcode);
    out.insert(out.end(), args.begin(), args.end());
  };
  bool named = false;
  for (size_t at = kSpirvHeaderWords; at < spirv.size(); at += spirv[at] >> 16) {
    const uint32_t opcode = spirv[at] & 0xFFFF;
    const auto args = spirv.subspan(at + 1, (spirv[at] >> 16) - 1);
    if (opcode != kOpCapability && !named) put(kOpExtension, name);  // extensions follow the capabilities
    named |= opcode != kOpCapability;
    put(opcode, args);
    if (opcode == kOpEntryPoint)
      put(kOpExecutionMode, std::array{args[1], uint32_t{kModeSubgroupUniformControlFlow}});
  }
  return out;
}

std::string shader_folder() {
  const char* value = std::getenv("BITNET_CHAT_SHADERS");
  const std::string folder = value == nullptr ? "" : value;
  std::error_code error;
  if (!folder.empty() && !std::filesystem::is_directory(folder, error))
    throw Error(
        ErrorKind::runtime,
        fmt::format("BITNET_CHAT_SHADERS: there is no folder {}; name the one with the NAME.spv files",
                    printable(folder)));
  return folder;
}

Spirv::Spirv(Shader shader, bool reconverges)
    : name_(embedded(shader).name), embedded_(embedded(shader).spirv), shape_(*read_shape(embedded_)) {
  if (const std::string folder = shader_folder(); !folder.empty()) read_file(folder);
  if (reconverges) own_ = reconverging(words());
}

void Spirv::read_file(const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(folder) / fmt::format("{}.spv", name_);
  auto words = read_words(path);
  if (!words) return;
  own_ = std::move(*words);
  const KernelShape wanted = shape_;
  shape_ = *read_shape(own_);
  if (shape_.n_bindings != wanted.n_bindings || shape_.push_bytes != wanted.push_bytes)
    throw Error(ErrorKind::runtime,
                fmt::format("BITNET_CHAT_SHADERS: {} has {} bindings and {} bytes of push constants, but the "
                            "engine gives it {} and {}; changes of these need a build",
                            printable(path.string()), shape_.n_bindings, shape_.push_bytes, wanted.n_bindings,
                            wanted.push_bytes));
}

}  // namespace bitnet::vk
