// Writes GGUF files for tests, field by field, so that a test can put anything anywhere.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "engine/gguf.h"

namespace bitnet {

// Bytes of a GGUF file.
struct Bytes {
  std::string data;

  template <typename T>
  Bytes& put(T value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u32(uint32_t v) { return put(v); }
  Bytes& u64(uint64_t v) { return put(v); }
  Bytes& text(std::string_view s) {
    u64(s.size());
    data += s;
    return *this;
  }
  Bytes& type(GgufType t) { return u32(static_cast<uint32_t>(t)); }
};

struct Tensor {
  std::string name = "a";
  std::vector<uint64_t> shape = {8};
  uint32_t type = 0;
  uint64_t offset = 0;
};

// The parts of a valid file; a test changes one of them.
struct Recipe {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::vector<std::string> keys;  // key, type and value as bytes
  std::vector<Tensor> tensors = {Tensor{}};
  std::optional<uint64_t> n_keys;
  std::optional<uint64_t> n_tensors;
  std::optional<uint32_t> n_dims;
  uint64_t data_bytes = 32;

  std::string bytes() const {
    Bytes b;
    b.data = magic;
    b.u32(version).u64(n_tensors.value_or(tensors.size())).u64(n_keys.value_or(keys.size()));
    for (const auto& k : keys) b.data += k;
    for (const auto& t : tensors) {
      b.text(t.name).u32(n_dims.value_or(static_cast<uint32_t>(t.shape.size())));
      for (const uint64_t n : t.shape) b.u64(n);
      b.u32(t.type).u64(t.offset);
    }
    b.data.resize((b.data.size() + 31) / 32 * 32 + data_bytes, '\x01');
    return b.data;
  }
};

inline std::string key_u32(std::string_view key, uint32_t value) {
  return Bytes().text(key).type(GgufType::u32).u32(value).data;
}
inline std::string key_string(std::string_view key, std::string_view value) {
  return Bytes().text(key).type(GgufType::string).text(value).data;
}
template <typename T>
std::string key_value(std::string_view key, GgufType type, T value) {
  return Bytes().text(key).type(type).put(value).data;
}
inline Bytes key_array(std::string_view key, GgufType element, uint64_t n) {
  Bytes b;
  b.text(key).type(GgufType::array).type(element).u64(n);
  return b;
}

class Gguf : public testing::Test {
 protected:
  Gguf() : folder_(testing::TempDir() + fmt::format("gguf-{}-{}", getpid(), counter_++)) {
    std::filesystem::create_directories(folder_);
  }
  ~Gguf() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name = "tiny.gguf") const { return folder_ + "/" + name; }

  std::string write(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary) << bytes;
    return path();
  }

  std::unique_ptr<Checkpoint> open(const Recipe& recipe) const {
    return std::make_unique<Checkpoint>(write(recipe.bytes()));
  }

  // The message of the Error(model) that `action` must throw.
  static std::string refusal(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::model);
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
      return e.what();
    }
    ADD_FAILURE() << "accepted";
    return "";
  }
  std::string refusal_of(const std::string& bytes) const {
    const std::string message = refusal([&] { Checkpoint file(write(bytes)); });
    EXPECT_THAT(message, testing::HasSubstr("tiny.gguf"));
    return message;
  }
  std::string refusal_of(const Recipe& recipe) const { return refusal_of(recipe.bytes()); }
  std::string refusal_of_key(const std::string& key) const {
    Recipe r;
    r.keys = {key};
    return refusal_of(r);
  }
  std::string refusal_of_tensor(const Tensor& tensor) const {
    Recipe r;
    r.tensors = {tensor};
    return refusal_of(r);
  }

 private:
  static inline int counter_ = 0;
  std::string folder_;
};

}  // namespace bitnet
