// Tests BITNET_CHAT_SHADERS: kernels from a folder take the place of the embedded ones, and nothing of such
// an experiment is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "shaders/shaders.h"
#include "tests/engine/kernels.h"

namespace bitnet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using vk::embedded;
using vk::Shader;

class VulkanShaderFolder : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices().front().cpu) GTEST_SKIP() << "there is no Vulkan device";
    std::filesystem::create_directories(folder_);
    setenv("BITNET_CHAT_SHADERS", folder_.c_str(), 1);
  }
  ~VulkanShaderFolder() override {
    unsetenv("BITNET_CHAT_SHADERS");
    std::filesystem::remove_all(folder_);
  }

  std::string path_of(Shader shader) const { return (folder_ / embedded(shader).name).string() + ".spv"; }

  void put_bytes(Shader in_place_of, std::span<const std::byte> bytes) const {
    std::ofstream(path_of(in_place_of), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  std::unique_ptr<Backend> open() const {
    EngineOptions options;
    options.kernels = share({.integer_dot = IntegerDot::never});
    options.cache_folder = cache_.string();
    return open_vulkan(options);
  }

  // Of opening a device and recording a kernel.
  std::string fault() const {
    try {
      const auto backend = open();
      const BufferPtr any = backend->allocate(4096, BufferUse::device);
      backend->record([&](Recorder& r) { r.argmax(*any, 64, *any, *any, 1); });
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::runtime);
      return error.what();
    }
    return "no error";
  }

  // Returns the first value of y = W q, where y was 4 before.
  static float first_result(Backend& backend) {
    std::mt19937 rng(7);
    const Ternary w = random_ternary(backend, 128, {{8, 1.0F}}, rng);
    Quantised q{put(backend, std::vector<int8_t>(128)), put(backend, std::vector<float>{1.0F, 0.0F}),
                nullptr};
    const BufferPtr y = put(backend, std::vector<float>(8, 4.0F));
    run(backend, [&](Recorder& r) { r.product(w.matrix, q, store(*y), 1); });
    return get<float>(backend, *y, 1)[0];
  }

  // Other tests may run at the same time.
  const std::filesystem::path folder_ =
                                  testing::TempDir() + "bitnet-shader-folder-" + std::to_string(getpid()),
                              cache_ = folder_ / "cache";
};

// The folder has the kernel that adds in place of the one that does not.
TEST_F(VulkanShaderFolder, AKernelFromTheFolderIsUsedAndNotKept) {
  EXPECT_EQ(first_result(*open()), 0.0F) << "the folder is empty";
  put_bytes(Shader::ternary_matvec_emulated,
            std::as_bytes(embedded(Shader::ternary_matvec_add_emulated).spirv));
  put_bytes(Shader::ternary_matvec_shared, std::as_bytes(embedded(Shader::ternary_matvec_add_shared).spirv));
  const auto changed = open();
  EXPECT_EQ(first_result(*changed), 4.0F);
  EXPECT_FALSE(std::filesystem::exists(cache_)) << "pipelines of an experiment are not kept";
  const std::string arithmetic = changed->device().arithmetic;
  EXPECT_NE(open()->device().arithmetic, arithmetic) << "nor are its keys and values used again";

  unsetenv("BITNET_CHAT_SHADERS");
  EXPECT_EQ(first_result(*open()), 0.0F);
}

TEST_F(VulkanShaderFolder, WhatIsNoKernelIsRefusedByName) {
  constexpr Shader kShader = Shader::argmax;
  const auto words = embedded(kShader).spirv;
  for (const auto& bytes :
       {std::as_bytes(words.first(0)), std::as_bytes(words.first(4)),
        std::as_bytes(words.first(words.size() - 1)), std::as_bytes(words).first(101),
        std::as_bytes(std::span<const char>("no SPIR-V at all, but a text of some length"))}) {
    put_bytes(kShader, bytes);
    EXPECT_THAT(fault(), AllOf(HasSubstr((folder_ / "argmax").string()), HasSubstr("is not SPIR-V")))
        << bytes.size() << " bytes";
  }
  put_bytes(kShader, std::as_bytes(embedded(Shader::norm).spirv));
  EXPECT_THAT(fault(), HasSubstr("push constants"));
  std::filesystem::remove(path_of(kShader));
  std::filesystem::create_directory(path_of(kShader));
  EXPECT_THAT(fault(), HasSubstr("is no file"));
  setenv("BITNET_CHAT_SHADERS", (folder_ / "none").c_str(), 1);
  EXPECT_THAT(fault(), HasSubstr("there is no folder"));
}

}  // namespace
}  // namespace bitnet
