#include "sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include "engine/error.h"

namespace bitnet {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1) return;
  EVP_MD_CTX_free(context_);
  throw Error(ErrorKind::runtime, "libcrypto has no SHA-256");
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::add(std::string_view bytes) { EVP_DigestUpdate(context_, bytes.data(), bytes.size()); }

std::string Sha256::digits() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_, digest, &length);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digits();
}

}  // namespace bitnet
