// Rewrites cooperative matrices in SPIR-V from the NV extension, which glslang 12 compiles, to the KHR
// extension, which devices have. Nothing else changes. The two differ in the names of the instructions, and
// in
//   the type          gains its use: A, B or accumulator, which is what the multiplications do with it
//   load and store    say row or column major by a number before the stride instead of a bool behind it
//   multiplication    says which operands are signed; NV took that from the types
// (SPV_NV_cooperative_matrix and SPV_KHR_cooperative_matrix of the SPIR-V registry, instruction by
// instruction.) Both need the Vulkan memory model, and glslang has written the memory operands for it.
//
//   khr_matrices [--hide] IN.spv OUT.spv         which may be the same file
//
// With --hide the module only loses the name of the extension, so that spirv-opt optimises it; afterwards it
// is rewritten as any other.
#include <cstdio>
#include <map>
#include <set>

#include "spirv_file.h"

namespace {

enum : uint32_t {
  kOpName = 5,
  kOpExtension = 10,
  kOpExtInstImport = 11,
  kOpMemoryModel = 14,
  kOpCapability = 17,
  kOpTypeInt = 21,
  kOpConstantTrue = 41,
  kOpConstantFalse = 42,
  kOpConstant = 43,
  kOpSpecConstantOp = 52,
  kOpDecorate = 71,
  kTypeKhr = 4456,
  kLoadKhr = 4457,
  kStoreKhr = 4458,
  kMulAddKhr = 4459,
  kTypeNv = 5358,
  kLoadNv = 5359,
  kStoreNv = 5360,
  kMulAddNv = 5361,
  kLengthNv = 5362,
  kCapabilityNv = 5357,
  kCapabilityKhr = 6022,
};

struct Instruction {
  uint32_t opcode;
  Words args;
};

std::vector<Instruction> parse(const Words& module) {
  constexpr size_t kHeader = 5;
  if (module.size() < kHeader || module[0] != 0x07230203) throw std::runtime_error("not a SPIR-V module");
  std::vector<Instruction> all;
  for (size_t at = kHeader; at < module.size();) {
    const uint32_t length = module[at] >> 16;
    if (length == 0 || at + length > module.size()) throw std::runtime_error("a torn SPIR-V module");
    all.push_back({module[at] & 0xFFFF, Words(module.begin() + at + 1, module.begin() + at + length)});
    at += length;
  }
  return all;
}

class Rewriter {
 public:
  explicit Rewriter(Words& module) : module_(module), code_(parse(module)) {}

  void hide() {
    Words out(module_.begin(), module_.begin() + 5);
    for (const Instruction& i : code_)
      if (!names_matrices(i)) put(out, i.opcode, i.args);
    module_ = std::move(out);
  }

  void run() {
    collect();
    find_uses();
    uint32_t& bound = module_[3];
    for (uint32_t& id : numbers_) id = bound++;
    Words out(module_.begin(), module_.begin() + 5);
    for (const Instruction& i : code_) rewrite(i, out);
    if (!wrote_numbers_) throw std::runtime_error("no 32-bit unsigned integer to number the uses with");
    module_ = std::move(out);
  }

 private:
  void collect() {
    std::set<uint32_t> signed_ints;
    for (const Instruction& i : code_) {
      const Words& a = i.args;
      if (i.opcode == kOpTypeInt && a[2] == 1) signed_ints.insert(a[0]);
      if (i.opcode == kOpConstantTrue || i.opcode == kOpConstantFalse)
        bools_[a[1]] = i.opcode == kOpConstantTrue;
      if (i.opcode == kTypeNv) is_signed_[a[0]] = signed_ints.count(a[1]) != 0;
      const bool is_length = i.opcode == kLengthNv || (i.opcode == kOpSpecConstantOp && a[2] == kLengthNv);
      if (is_length) throw std::runtime_error("the length of a matrix is not rewritten");
      // An instruction whose first operand is a matrix type has a result of that type.
      const bool typed =
          i.opcode != kOpName && i.opcode != kOpDecorate && a.size() > 1 && is_signed_.count(a[0]) != 0;
      if (typed && i.opcode != kTypeNv) type_of_[a[1]] = a[0];
    }
  }

  void find_uses() {
    const auto use = [&](uint32_t type, uint32_t as) {
      if (use_.try_emplace(type, as).first->second != as)
        throw std::runtime_error("one type of matrix in two uses: let its sizes be constants of their own");
    };
    for (const Instruction& i : code_) {
      if (i.opcode != kMulAddNv) continue;
      use(type_of_.at(i.args[2]), 0);
      use(type_of_.at(i.args[3]), 1);
      use(type_of_.at(i.args[4]), 2);
      use(i.args[0], 2);
    }
  }

  static void put(Words& out, uint32_t opcode, const Words& args) {
    out.push_back(static_cast<uint32_t>(args.size() + 1) << 16 | opcode);
    out.insert(out.end(), args.begin(), args.end());
  }

  static Words string_words(const std::string& text) {
    Words words(text.size() / 4 + 1);
    for (size_t i = 0; i < text.size(); ++i)
      words[i / 4] |= uint32_t{static_cast<unsigned char>(text[i])} << 8 * (i % 4);
    return words;
  }

  static bool names_matrices(const Instruction& i) {
    return i.opcode == kOpExtension && i.args == string_words("SPV_NV_cooperative_matrix");
  }

  uint32_t layout(uint32_t column_major) const { return numbers_[bools_.at(column_major) ? 1 : 0]; }

  void rewrite(const Instruction& i, Words& out) {
    Words a = i.args;
    switch (i.opcode) {
      case kOpCapability:
        if (a[0] == kCapabilityNv) a[0] = kCapabilityKhr;
        return put(out, i.opcode, a);
      case kOpExtension:
        if (names_matrices(i)) return;
        return put(out, i.opcode, a);
      case kOpExtInstImport:  // which follow the extensions
      case kOpMemoryModel:
        if (!wrote_extension_) put(out, kOpExtension, string_words("SPV_KHR_cooperative_matrix"));
        wrote_extension_ = true;
        return put(out, i.opcode, a);
      case kOpTypeInt:
        put(out, i.opcode, a);
        if (a[1] == 32 && a[2] == 0 && !wrote_numbers_) {
          wrote_numbers_ = true;
          for (uint32_t n = 0; n < 3; ++n) put(out, kOpConstant, {a[0], numbers_[n], n});
        }
        return;
      case kTypeNv:
        if (use_.count(a[0]) == 0) throw std::runtime_error("a matrix that is never multiplied");
        a.push_back(numbers_[use_[a[0]]]);
        return put(out, kTypeKhr, a);
      case kLoadNv:   // type, result, pointer, stride, column major, memory operands
      case kStoreNv:  // pointer, object, stride, column major, memory operands
        a[i.opcode == kLoadNv ? 4 : 3] = a[i.opcode == kLoadNv ? 3 : 2];
        a[i.opcode == kLoadNv ? 3 : 2] = layout(i.args[i.opcode == kLoadNv ? 4 : 3]);
        return put(out, i.opcode == kLoadNv ? kLoadKhr : kStoreKhr, a);
      case kMulAddNv: {
        const uint32_t types[] = {type_of_.at(a[2]), type_of_.at(a[3]), type_of_.at(a[4]), a[0]};
        uint32_t are_signed = 0;
        for (uint32_t n = 0; n < 4; ++n) are_signed |= uint32_t{is_signed_.at(types[n])} << n;
        a.push_back(are_signed);
        return put(out, kMulAddKhr, a);
      }
      default:
        return put(out, i.opcode, a);
    }
  }

  Words& module_;
  std::vector<Instruction> code_;
  std::map<uint32_t, bool> bools_, is_signed_;  // by constant; by matrix type
  std::map<uint32_t, uint32_t> type_of_, use_;  // by object; by matrix type
  uint32_t numbers_[3] = {};                    // ids of the constants 0, 1, 2
  bool wrote_numbers_ = false, wrote_extension_ = false;
};

void write(const Words& words, const char* path) {
  std::ofstream file(path, std::ios::binary);
  for (const uint32_t word : words)
    for (int shift = 0; shift < 32; shift += 8) file.put(static_cast<char>(word >> shift & 0xFF));
  if (!file.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

}  // namespace

int main(int argc, char** argv) {
  const bool hide = argc == 4 && argv[1] == std::string("--hide");
  if (argc != 3 && !hide) {
    std::fprintf(stderr, "usage: khr_matrices [--hide] IN.spv OUT.spv\n");
    return 2;
  }
  const char *from = argv[argc - 2], *to = argv[argc - 1];
  try {
    Words module = read_spirv(from);
    Rewriter rewriter(module);
    hide ? rewriter.hide() : rewriter.run();
    write(module, to);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "khr_matrices: %s: %s\n", from, error.what());
    return 1;
  }
}
