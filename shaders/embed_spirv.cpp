// Writes kShaders (shaders.h) as C++: the words of SPIR-V files, each named by its file, in the order given.
//
//   embed_spirv OUT.cpp NAME.spv...
#include <cstdio>
#include <filesystem>

#include "spirv_file.h"

namespace {

void embed(const char* path, const std::vector<std::filesystem::path>& modules) {
  std::ofstream out(path);
  out << "#include \"shaders/shaders.h\"\n\nnamespace bitnet::vk {\nnamespace {\n";
  for (const auto& module : modules) {
    out << "\nconst uint32_t " << module.stem().string() << "[] = {";
    const Words words = read_spirv(module.string());
    for (size_t i = 0; i < words.size(); ++i) out << (i % 12 == 0 ? "\n" : "") << words[i] << ',';
    out << "\n};\n";
  }
  out << "\n}  // namespace\n\nextern const std::array<EmbeddedShader, " << modules.size()
      << "> kShaders = {{\n";
  for (const auto& module : modules)
    out << "    {\"" << module.stem().string() << "\", " << module.stem().string() << "},\n";
  out << "}};\n\n}  // namespace bitnet::vk\n";
  if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + path);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed_spirv OUT.cpp NAME.spv...\n");
    return 2;
  }
  try {
    embed(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "embed_spirv: %s\n", error.what());
    return 1;
  }
}
