#include "utf8_locale.h"

#include <langinfo.h>

#include <clocale>
#include <cstdlib>
#include <cstring>

namespace bitnet {
namespace {

bool is_utf8() { return std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0; }

}  // namespace

bool use_utf8_locale() {
  std::setlocale(LC_ALL, "");
  if (is_utf8()) return true;
  constexpr char kLocale[] = "C.UTF-8";
  if (std::setlocale(LC_CTYPE, kLocale) == nullptr || !is_utf8()) return false;
  const char* all = std::getenv("LC_ALL");
  setenv(all != nullptr && *all != '\0' ? "LC_ALL" : "LC_CTYPE", kLocale, 1);
  return true;
}

}  // namespace bitnet
