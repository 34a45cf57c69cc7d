// A list to pick from, with what is typed to narrow it.
//
// Thread rule: lives on the loop's thread; no terminal in it.
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

  // Closes once the person has chosen (and Choices::chosen has been called) or leaves. No key is passed on.
  Outcome press(const KeyPress& key, int columns, int rows) override;
  std::optional<std::vector<Row>> rows(int columns, int rows) override;  // the selected one is among them
  std::optional<Row> input_row(int columns, int& cursor_column) override;

 private:
  void type(std::string_view bytes);
  void refill();
  void move(int by);

  Choices choices_;
  std::string filter_;
  std::vector<Choice> found_;
  size_t selected_ = 0;
};

}  // namespace bitnet
