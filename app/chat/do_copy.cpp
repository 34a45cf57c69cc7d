// /copy: an answer or a code block to the person's clipboard.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "app/base/counted.h"
#include "app/text/markdown_lines.h"
#include "app/text/thinking.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

// Of code blocks 1 to `count`; the last one where none is named.
size_t block_number(std::string_view which, size_t count) {
  if (which.empty()) return count;
  size_t number = 0;
  const auto [end, problem] = std::from_chars(which.data(), which.data() + which.size(), number);
  if (problem != std::errc() || end != which.data() + which.size() || number < 1 || number > count) {
    refuse(fmt::format("/copy wants the number of a code block{}, or 'answer'; found '{}'",
                       count == 0 ? ", of which there are none here" : fmt::format(", 1 to {}", count),
                       printable(which, 40)));
  }
  return number;
}

void copy_answer(FrontEnd& front, const std::string& answer) {
  if (!front.copy(answer)) return front.command_output("copy", answer);
  front.notice(fmt::format("Copied the last answer, {}.", counted(answer.size(), "byte")));
}

void copy_block(FrontEnd& front, const CodeBlock& block, size_t number) {
  if (!front.copy(block.text)) return front.command_output(fmt::format("copy {}", number), block.text);
  const auto lines = static_cast<size_t>(std::count(block.text.begin(), block.text.end(), '\n'));
  front.notice(fmt::format("Copied code block {}{}, {}.", number,
                           block.language.empty() ? "" : fmt::format(" ({})", block.language),
                           counted(lines, "line")));
}

}  // namespace

void do_copy(ChatParts& chat, std::string_view which) {
  std::vector<CodeBlock> blocks;
  std::optional<std::string> answer;  // without what the model thought
  for (const BranchMessage& message : chat.conversation.branch()) {
    if (message.stored.role != Role::assistant) continue;
    answer = std::string(split_answer(message.stored.text).answer);
    for (CodeBlock& block : code_blocks(*answer)) blocks.push_back(std::move(block));
  }
  if (!answer) refuse("there is no answer to copy yet");
  if (which == "answer" || (which.empty() && blocks.empty())) return copy_answer(chat.front_end(), *answer);
  const size_t number = block_number(which, blocks.size());
  copy_block(chat.front_end(), blocks[number - 1], number);
}

}  // namespace bitnet
