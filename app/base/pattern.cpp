#define PCRE2_CODE_UNIT_WIDTH 8
#include "pattern.h"

#include <fmt/format.h>
#include <pcre2.h>

#include "engine/error.h"

namespace bitnet {
namespace {

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Pattern::Impl {
  pcre2_code* code = nullptr;
  pcre2_match_data* match = nullptr;
  ~Impl() {
    pcre2_match_data_free(match);
    pcre2_code_free(code);
  }
};

Pattern::Pattern(const std::string& expression) : impl_(std::make_unique<Impl>()) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_MATCH_INVALID_UTF, &error,
                              &offset, nullptr);
  if (impl_->code == nullptr) {
    throw Error(ErrorKind::usage, fmt::format("pattern /{}/ is wrong at character {}: {}",
                                              printable(expression), offset + 1, message_of(error)));
  }
  impl_->match = pcre2_match_data_create_from_pattern(impl_->code, nullptr);
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;

bool Pattern::found_in(std::string_view text) const {
  const int result = pcre2_match(impl_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0,
                                 impl_->match, nullptr);
  if (result == PCRE2_ERROR_NOMATCH) return false;
  if (result < 0) throw Error(ErrorKind::runtime, "a pattern cannot be matched: " + message_of(result));
  return true;
}

}  // namespace bitnet
