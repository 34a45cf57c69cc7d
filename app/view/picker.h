// A list from which a person picks; what they type narrows it.
//
// Thread rule: lives on the loop's thread; it knows no terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/chat/front_end.h"
#include "overlay.h"

namespace bitnet {

class Picker : public Overlay {
 public:
  explicit Picker(Choices choices);

  // Closes when the person leaves or has chosen, after it has called Choices::chosen. It passes no key on.
  Outcome press(const KeyPress& key, int columns, int rows) override;
  std::optional<std::vector<Row>> rows(int columns, int rows) override;  // the selected one is among them
  std::optional<Row> input_row(int columns, int& cursor_column) override;

 private:
  Outcome press_letters(std::string_view bytes);
  Outcome click(int row, int rows);
  Outcome choose();
  size_t first_shown(int rows) const;
  void go_to_number(int digit);
  Row keys_row(int columns, int& cursor_column) const;
  void type(std::string_view bytes);
  void refill();
  void move(int by);

  Choices choices_;
  std::string filter_;
  std::vector<Choice> found_;
  size_t selected_ = 0;
  int64_t number_ = 0;  // of the digits that were pressed last
};

}  // namespace bitnet
