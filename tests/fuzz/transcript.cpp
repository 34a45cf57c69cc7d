// What a person does while an answer streams: makes the window another size, scrolls, searches, folds the
// thought. No row may hold what a terminal would obey or be wider than the screen, and in the end the
// transcript must look as if nothing had been done. Layout: a byte for what is done, then what that needs.
#include "app/view/transcript.h"

#include <algorithm>

#include "fuzz.h"
#include "rows.h"

namespace bitnet {
namespace {

// A thought and an answer behind it. The chat hands over whole characters only.
class Streamed {
 public:
  void add(std::string_view text) {
    const auto goes_on = [](char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; };
    const auto begins = std::find_if_not(text.begin(), text.end(), goes_on);
    held_ += text.substr(0, static_cast<size_t>(begins - text.begin()));
    if (begins == text.end()) return;
    hand_over();
    held_ = std::string(begins, text.end());
  }
  void begin_answer() {
    if (!answers_) hand_over();
    answers_ = true;
  }
  void hand_over() {
    append(view, held_, answers_);
    (answers_ ? answer_ : thought_) += held_;
    held_.clear();
  }
  std::string whole_rows(int columns) const {
    TranscriptView whole;
    whole.set_size(columns, 20);
    whole.unfold_thoughts(view.thoughts_unfolded());
    whole.begin_answer();
    append(whole, thought_, false);
    append(whole, answer_, true);
    return fuzz::rows_of(whole, columns);
  }

  TranscriptView view;

 private:
  static void append(TranscriptView& to, std::string_view text, bool answers) {
    if (!text.empty()) answers ? to.append_answer(text) : to.append_thought(text);
  }

  std::string held_, thought_, answer_;
  bool answers_ = false;
};

}  // namespace
}  // namespace bitnet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  fuzz::Input input(data, size);
  int columns = 80;
  Streamed streamed;
  TranscriptView& view = streamed.view;
  view.set_size(columns, 20);
  view.begin_answer();
  for (int done = 0; done < 1000 && !input.left.empty(); ++done) {
    switch (input.byte() % 8) {
      case 0:
        columns = fuzz::kNarrowest + input.byte() % 100;
        view.set_size(columns, input.byte() % 40);
        break;
      case 1:
        view.scroll_by(static_cast<int8_t>(input.byte()));
        break;
      case 2:
        view.find(input.part());
        break;
      case 3:
        view.next_match(input.byte() % 2 == 0 ? 1 : -1);
        break;
      case 4:
        view.unfold_thoughts(!view.thoughts_unfolded());
        break;
      case 5:
        streamed.begin_answer();
        break;
      default:
        streamed.add(input.part());
    }
    for (const Row& row : view.visible()) fuzz::checked(row, columns);
  }
  streamed.hand_over();
  fuzz::promise(fuzz::rows_of(view, columns) == streamed.whole_rows(columns));
  return 0;
}
