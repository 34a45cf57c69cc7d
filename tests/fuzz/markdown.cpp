// Streams an answer, or a thought that is shown whole, into the transcript. No row may hold what a terminal
// would obey or be wider than the screen, and what was streamed in pieces must look as if it had come at
// once. Layout: columns, which of them and the size of a piece, text.
#include "app/view/transcript.h"
#include "fuzz.h"
#include "rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  fuzz::Input input(data, size);
  const int columns = fuzz::kNarrowest + input.byte() % 100;
  const uint8_t how = input.byte();
  const bool thinks = how >= 128;
  // The longer a text is, the larger are its pieces, so that an input takes a fraction of a second.
  const size_t step = 1 + how % 64 + size / 128;
  const auto append = [thinks](TranscriptView& view, std::string_view text) {
    thinks ? view.append_thought(text) : view.append_answer(text);
  };
  TranscriptView streamed, whole;
  streamed.set_size(columns, 20);
  whole.set_size(columns, 20);
  streamed.unfold_thoughts(true);
  whole.unfold_thoughts(true);
  streamed.begin_answer();
  whole.begin_answer();
  // The chat hands over whole characters only, so the pieces are cut between them.
  std::string piece;
  for (size_t i = 0; i < input.left.size(); ++i) {
    const bool starts = (static_cast<uint8_t>(input.left[i]) & 0xC0) != 0x80;
    if (starts && piece.size() >= step) {
      append(streamed, piece);
      streamed.visible();
      piece.clear();
    }
    piece += input.left[i];
  }
  append(streamed, piece);
  append(whole, input.left);
  fuzz::promise(fuzz::rows_of(streamed, columns) == fuzz::rows_of(whole, columns));
  streamed.end_answer("stop");
  whole.end_answer("stop");
  fuzz::promise(fuzz::rows_of(streamed, columns) == fuzz::rows_of(whole, columns));
  return 0;
}
