// A conversation as Markdown, and back.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/text/thinking.h"
#include "engine/error.h"
#include "exchange.h"

namespace bitnet {
namespace {

// "## System" is the system prompt, and stands at most once, before every message.
constexpr std::string_view kPromptHeading = "## System";
struct Heading {
  std::string_view line;
  Role role;
};
constexpr Heading kHeadings[] = {
    {"## User", Role::user}, {"## Assistant", Role::assistant}, {"## System message", Role::system}};

const Heading* heading_of(std::string_view line) {
  const auto* found = std::find_if(std::begin(kHeadings), std::end(kHeadings),
                                   [line](const Heading& heading) { return heading.line == line; });
  return found == std::end(kHeadings) ? nullptr : found;
}

// "*(length)*" -> "length"; empty where the line is something else.
std::string_view reason_of(std::string_view line) {
  if (!line.starts_with("*(") || !line.ends_with(")*") || line.size() < 5) return {};
  const std::string_view word = line.substr(2, line.size() - 4);
  const bool plain = word.size() <= 32 && std::all_of(word.begin(), word.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || c == '_';
                     });
  return plain ? word : std::string_view();
}

// A thought: this line, an empty one, the thought, an empty one, and the line that ends it.
constexpr std::string_view kThoughtBegins = "<details><summary>Thought</summary>";
constexpr std::string_view kThoughtEnds = "</details>";

// Whether a line of a text would be read as one of ours if its backslashes were taken off.
bool looks_like_ours(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of('\\'), line.size()));
  return line == kPromptHeading || line == kThoughtBegins || heading_of(line) != nullptr ||
         !reason_of(line).empty();
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (true) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const std::string_view line : lines_of(text)) {
    if (looks_like_ours(line)) out += '\\';
    out += line;
    out += '\n';
  }
  return out;
}

// An answer with its thought in a block, if read_thought() gives exactly this text again.
std::string answer_text(const std::string& text) {
  const SplitAnswer split = split_answer(text);
  if (!split.thinks || split.thought.empty() || text != join_answer(split.thought, split.answer))
    return escaped(text);
  for (const std::string_view line : lines_of(split.thought)) {
    if (line == kThoughtEnds) return escaped(text);
  }
  return fmt::format("{}\n\n{}\n{}\n\n{}", kThoughtBegins, escaped(split.thought), kThoughtEnds,
                     escaped(split.answer));
}

// Takes a thought's lines from the beginning of an answer's, and returns it; empty where there is none.
std::string read_thought(std::vector<std::string_view>& lines) {
  const auto end = std::find(lines.begin(), lines.end(), kThoughtEnds);
  if (lines.front() != kThoughtBegins || end == lines.end()) return {};
  std::string thought;
  for (auto line = lines.begin() + 1; line != end; ++line) {
    if (line->starts_with('\\') && looks_like_ours(*line)) line->remove_prefix(1);
    thought += *line;
    thought += '\n';
  }
  lines.erase(lines.begin(), end + 1);
  if (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  return std::string(split_answer(fmt::format("{}{}", kThinkOpen, thought)).thought);
}

// Reads the lines after a heading, as write_markdown writes them. Files that people have edited may lack the
// empty lines.
struct Section {
  std::string text;
  std::string_view reason;
};
Section read_section(std::vector<std::string_view> lines, bool last, bool answer) {
  Section section;
  if (!lines.empty() && lines.front().empty()) lines.erase(lines.begin());
  if (!last && !lines.empty() && lines.back().empty()) lines.pop_back();
  if (answer && !lines.empty()) {
    section.reason = reason_of(lines.back());
    if (!section.reason.empty()) {
      lines.pop_back();
      if (!lines.empty() && lines.back().empty()) lines.pop_back();
    }
  }
  const std::string thought = answer && !lines.empty() ? read_thought(lines) : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    std::string_view line = lines[i];
    if (line.starts_with('\\') && looks_like_ours(line)) line.remove_prefix(1);
    if (i > 0) section.text += '\n';
    section.text += line;
  }
  section.text = join_answer(thought, section.text);
  return section;
}

}  // namespace

std::string write_markdown(const WholeConversation& whole) {
  std::string title = whole.row.title;
  std::replace(title.begin(), title.end(), '\n', ' ');
  std::string out = title.empty() ? "#\n" : fmt::format("# {}\n", title);
  if (!whole.row.system.empty()) out += fmt::format("\n{}\n\n{}", kPromptHeading, escaped(whole.row.system));
  for (const WholeMessage* message : shown_branch(whole)) {
    const StoredMessage& m = message->stored;
    const auto* heading = std::find_if(std::begin(kHeadings), std::end(kHeadings),
                                       [&m](const Heading& h) { return h.role == m.role; });
    out += fmt::format("\n{}\n\n{}", heading->line,
                       m.role == Role::assistant ? answer_text(m.text) : escaped(m.text));
    if (m.role == Role::assistant && !m.finish.empty() && m.finish != "stop") {
      out += fmt::format("\n*({})*\n", m.finish);
    }
  }
  return out;
}

WholeConversation read_markdown(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string_view> lines = lines_of(text);
  // This recognises a file of CRLF lines: in one of ours at least the empty lines end without CR.
  if (std::all_of(lines.begin(), lines.end() - 1, [](std::string_view l) { return l.ends_with('\r'); }) &&
      lines.size() > 1) {
    for (std::string_view& line : lines) {
      if (line.ends_with('\r')) line.remove_suffix(1);
    }
  }
  WholeConversation whole;
  if (lines[0].starts_with("# ")) whole.row.title = lines[0].substr(2);

  // The lines of each section, and where its heading stands.
  struct Found {
    const Heading* heading;  // nullptr: the prompt
    size_t line;
  };
  std::vector<Found> found;
  for (size_t i = 0; i < lines.size(); ++i) {
    const Heading* heading = heading_of(lines[i]);
    if (heading != nullptr) found.push_back({heading, i});
    if (lines[i] != kPromptHeading) continue;
    if (!found.empty()) {
      throw Error(ErrorKind::runtime,
                  fmt::format("line {}: '{}' has to be the first section", i + 1, kPromptHeading));
    }
    found.push_back({nullptr, i});
  }
  if (found.empty() || (found.size() == 1 && found[0].heading == nullptr)) {
    throw Error(ErrorKind::runtime, "wanted sections '## User' and '## Assistant', found none");
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const bool last = i + 1 == found.size();
    const auto begin = lines.begin() + static_cast<ptrdiff_t>(found[i].line) + 1;
    const auto end = last ? lines.end() : lines.begin() + static_cast<ptrdiff_t>(found[i + 1].line);
    const Heading* heading = found[i].heading;
    Section section =
        read_section({begin, end}, last, heading != nullptr && heading->role == Role::assistant);
    if (heading == nullptr) {
      whole.row.system = std::move(section.text);
      continue;
    }
    WholeMessage message;
    message.stored.role = heading->role;
    message.stored.text = std::move(section.text);
    if (heading->role == Role::assistant) {
      message.stored.finish = section.reason.empty() ? "stop" : section.reason;
    }
    whole.messages.push_back(std::move(message));
  }
  if (!lines[0].starts_with("# ") && lines[0] != "#") whole.row.title = title_of(whole);
  return whole;
}

}  // namespace bitnet
