#include "way_back.h"

#include <fmt/format.h>

#include "app/base/counted.h"
#include "app/base/shell_word.h"
#include "app/text/text_safe.h"
#include "engine/error.h"

namespace bitnet {

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

void tell_way_back(const std::string& text, Output& err) { err.write(make_safe(text)); }

}  // namespace bitnet
