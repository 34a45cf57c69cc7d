// The status line: a rule across the screen with the model, the device, what is happening and how full the
// context is.
//
// Thread rule: free functions; safe anywhere. They know no terminal.
#pragma once

#include <string>
#include <string_view>

#include "app/chat/front_end.h"
#include "app/text/styled_text.h"

namespace bitnet {

struct StatusExtras {
  std::string hint;     // shown in place of the model and the device until the next key
  size_t new_rows = 0;  // new rows of the transcript below the visible ones
  size_t rows_below = 0;
};

// Returns a row of exactly `columns`. What does not fit is left out, the least important items first; the
// state always stays.
Row status_row(const Status& status, const StatusExtras& extras, int columns);

}  // namespace bitnet
