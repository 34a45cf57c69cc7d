// SHA-256 of bytes and of files, as 64 digits of lower case.
//
// Thread rule: a Sha256 belongs to one thread; free functions, any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace bitnet {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  void add(std::span<const std::byte> bytes) {
    add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
  std::string digits();  // of all that was added; nothing may be added afterwards

 private:
  evp_md_ctx_st* context_;
};

std::string sha256_of(std::string_view bytes);

}  // namespace bitnet
