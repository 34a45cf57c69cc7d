#include "way_back.h"

#include <fmt/format.h>

#include "app/base/counted.h"
#include "app/text/text_safe.h"
#include "engine/error.h"

namespace bitnet {
namespace {

// Quoted where a shell would take it apart.
std::string shell_word(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,=";
  if (text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string quoted(1, '\'');
  for (const char c : text) {
    if (c == '\'') quoted.append("'\\'");
    quoted.push_back(c);
  }
  quoted.push_back('\'');
  return quoted;
}

}  // namespace

std::string way_back(const Options& options, int64_t conversation, Store& store) {
  if (conversation == 0 || options.is_private) return {};
  try {
    const auto row = store.conversation(conversation);
    if (!row || row->deleted) return {};
    std::string command = fmt::format("bitnet-chat --resume {}", conversation);
    if (!options.model.empty()) command += fmt::format(" {}", shell_word(options.model));
    if (!options.db.empty()) command += fmt::format(" --db {}", shell_word(options.db));
    return fmt::format("go on with: {}  # {} saved: {}\n", command,
                       counted(static_cast<size_t>(row->messages), "message"), one_line(row->title));
  } catch (const Error&) {
    return {};
  }
}

void tell_way_back(const std::string& text, Output& err) {
  try {
    err.write(make_safe(text));
  } catch (const Error&) {
    // The terminal went away, so nobody is there to read it.
  }
}

}  // namespace bitnet
