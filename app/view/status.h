// The status line: a rule across the screen with the model, the device, what happens and how full the context
// is.
//
// Thread rule: free functions; no terminal in them.
#pragma once

#include <string>
#include <string_view>

#include "app/chat/front_end.h"
#include "app/text/styled_text.h"

namespace bitnet {

struct StatusExtras {
  std::string hint;     // said instead of model and device until the next key
  size_t new_rows = 0;  // of the transcript, below what is visible
  size_t rows_below = 0;
};

// Exactly `columns` wide. What does not fit goes, the least important first; the state stays.
Row status_row(const Status& status, const StatusExtras& extras, int columns);

}  // namespace bitnet
