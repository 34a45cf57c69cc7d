// A list to pick from, with what is typed to narrow it.
//
// Thread rule: a value; lives on the loop's thread; no terminal in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/chat/front_end.h"
#include "app/text/key_decoder.h"
#include "app/text/styled_text.h"

namespace bitnet {

class Picker {
 public:
  explicit Picker(Choices choices);

  enum class Outcome { goes_on, leaves, chosen };
  Outcome press(const KeyPress& key, int page_rows);
  int64_t selected() const;  // requires Outcome::chosen
  const Choices& choices() const { return choices_; }

  std::vector<Row> rows(int columns, int rows) const;  // exactly `rows`; the selected one is among them
  Row filter_row(int columns, int& cursor_column) const;

 private:
  void refill();
  void move(int by);

  Choices choices_;
  std::string filter_;
  std::vector<Choice> found_;
  size_t selected_ = 0;
};

}  // namespace bitnet
