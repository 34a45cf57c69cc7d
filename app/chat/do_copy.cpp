// /copy and /save: an answer or a code block to the person's clipboard, or into a file.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "app/base/counted.h"
#include "app/text/markdown_lines.h"
#include "app/text/text_file.h"
#include "app/text/thinking.h"
#include "do.h"
#include "refuse.h"

namespace bitnet {
namespace {

// Of code blocks 1 to `count`; the last one where none is named.
size_t block_number(std::string_view command, std::string_view which, size_t count) {
  if (which.empty()) return count;
  size_t number = 0;
  const auto [end, problem] = std::from_chars(which.data(), which.data() + which.size(), number);
  if (problem != std::errc() || end != which.data() + which.size() || number < 1 || number > count) {
    refuse(fmt::format("{} wants the number of a code block{}{}; found '{}'", command,
                       count == 0 ? ", of which there are none here" : fmt::format(", 1 to {}", count),
                       command == "/copy" ? ", or 'answer'" : "", printable(which, 40)));
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

// What the answers that are shown have to copy.
struct SaidCode {
  std::vector<CodeBlock> blocks;      // of all of them
  std::optional<std::string> answer;  // the last one, without what the model thought
};

SaidCode said_code(const ChatParts& chat) {
  SaidCode said;
  for (const BranchMessage& message : chat.conversation.branch()) {
    if (message.stored.role != Role::assistant) continue;
    said.answer = std::string(split_answer(message.stored.text).answer);
    for (CodeBlock& block : code_blocks(*said.answer)) said.blocks.push_back(std::move(block));
  }
  return said;
}

// The first line of a block that says something.
std::string first_words(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

// A name for a file with this block, such as "block-2.py".
std::string file_for(const CodeBlock& block, int64_t number) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {"python", "py"}, {"bash", "sh"},     {"shell", "sh"}, {"javascript", "js"}, {"typescript", "ts"},
      {"c++", "cpp"},   {"markdown", "md"}, {"rust", "rs"},  {"ruby", "rb"},       {"text", "txt"}};
  std::string ending = block.language;
  for (const auto& [language, usual] : kEndings) {
    if (language == block.language) ending = usual;
  }
  const bool is_usual = !ending.empty() && ending.size() < 8 &&
                        std::all_of(ending.begin(), ending.end(),
                                    [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
  return fmt::format("block-{}.{}", number, is_usual ? ending : "txt");
}

// Lets the person pick a block; false where nobody can.
bool choose_block(ChatParts& chat, const std::vector<CodeBlock>& blocks) {
  Choices choices;
  choices.title = "Copy a code block";
  choices.enter = "copies";
  choices.find = [blocks](std::string_view) {
    std::vector<Choice> found;
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto lines = static_cast<size_t>(std::count(blocks[i].text.begin(), blocks[i].text.end(), '\n'));
      found.push_back({static_cast<int64_t>(i) + 1,
                       fmt::format("{:>2}  {}", i + 1, first_words(blocks[i].text)),
                       fmt::format("{}{}{}", blocks[i].language, blocks[i].language.empty() ? "" : ", ",
                                   counted(lines, "line"))});
    }
    return found;
  };
  choices.chosen = [&chat, blocks](int64_t id) {
    copy_block(chat.front_end(), blocks.at(static_cast<size_t>(id) - 1), static_cast<size_t>(id));
  };
  choices.keys = {{'w', "writes it to a file", [&chat, blocks](int64_t id) {
                     chat.front_end().return_input(fmt::format(
                         "/save {} {}", id, file_for(blocks.at(static_cast<size_t>(id) - 1), id)));
                   }}};
  return chat.front_end().choose(std::move(choices));
}

}  // namespace

void do_copy(ChatParts& chat, std::string_view which) {
  const SaidCode said = said_code(chat);
  if (!said.answer) refuse("there is no answer to copy yet");
  if (which == "answer" || (which.empty() && said.blocks.empty()))
    return copy_answer(chat.front_end(), *said.answer);
  const bool picks = which == "pick" || (which.empty() && said.blocks.size() > 1 && chat.settings.now.asks);
  if (picks && said.blocks.empty()) refuse("there is no code block to copy yet");
  if (picks && choose_block(chat, said.blocks)) return;
  const size_t number = block_number("/copy", picks ? "" : which, said.blocks.size());
  copy_block(chat.front_end(), said.blocks[number - 1], number);
}

void do_save(ChatParts& chat, std::string_view arguments) {
  const auto [which, name] = split(arguments);
  const NamedFile file = file_to_write(name);
  if (file.name.empty()) refuse("/save wants the number of a code block and a file, as in /save 1 hello.txt");
  const SaidCode said = said_code(chat);
  if (said.blocks.empty()) refuse("there is no code block to save yet");
  const size_t number = block_number("/save", which, said.blocks.size());
  const std::string& text = said.blocks[number - 1].text;
  write_text_file(file.name, text, rules_for(chat, file));
  chat.front_end().command_output(
      "save", fmt::format("Code block {}, {}, is in {} now.", number,
                          counted(static_cast<size_t>(std::count(text.begin(), text.end(), '\n')), "line"),
                          file.name));
}

}  // namespace bitnet
