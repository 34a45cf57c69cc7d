// /persona and /prompt.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "app/base/places.h"
#include "arguments.h"
#include "do.h"
#include "mentions.h"
#include "personas.h"
#include "refuse.h"

namespace bitnet {
namespace {

std::string listed(const std::vector<NamedText>& all, std::string_view current, const char* kind) {
  std::string text;
  for (const NamedText& entry : all) {
    text += fmt::format("{} {:<14}  {}{}\n", entry.name == current ? "*" : " ", entry.name,
                        entry.problem.empty() ? entry.about : entry.problem,
                        entry.is_ours || !entry.problem.empty() ? "" : " (yours)");
  }
  const std::string folder = config_folder();
  if (!folder.empty()) text += fmt::format("Files NAME.txt in {}/{} join these.", folder, kind);
  return text;
}

// What a person means by these words: quotes make several of them one.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\n", at)) != std::string_view::npos) {
    const char quote = text[at];
    const size_t close = quote == '"' || quote == '\'' ? text.find(quote, at + 1) : std::string_view::npos;
    const bool is_quoted =
        close != std::string_view::npos &&
        (close + 1 == text.size() || std::isspace(static_cast<unsigned char>(text[close + 1])));
    if (is_quoted) {
      words.emplace_back(text.substr(at + 1, close - at - 1));
      at = close + 1;
    } else {
      const size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
      words.emplace_back(text.substr(at, end - at));
      at = end;
    }
  }
  return words;
}

void use(ChatParts& chat, const PersonaFile& file) {
  ChatSettings changed = chat.settings.now;
  // What is asked for now wins over what was set before.
  for (auto at = changed.sources.begin(); at != changed.sources.end();) {
    const bool is_its = std::any_of(file.persona.settings.begin(), file.persona.settings.end(),
                                    [&](const auto& setting) { return setting.first == at->first; });
    at = is_its && at->second == SettingSource::person ? changed.sources.erase(at) : std::next(at);
  }
  wear(file.persona, changed, chat.settings.defaults, kept_beside(file.persona, chat.settings.defaults));
  change_settings(chat, std::move(changed));
  chat.settings.new_persona = chat.settings.now.persona;
  chat.settings.new_think = chat.settings.now.think;
  set_system(chat, file.system);
}

}  // namespace

void do_persona(ChatParts& chat, std::string_view arguments) {
  const std::string& current = chat.settings.now.persona.name;
  if (arguments.empty()) {
    return chat.front_end().command_output("persona", listed(all_personas(), current, "personas"));
  }
  if (arguments == "none") {
    if (current.empty()) refuse("there is no persona to take leave of");
    use(chat, {});
    return chat.front_end().command_output(
        "persona",
        "No persona answers any more: the system prompt is empty, and the settings are as before.");
  }
  const PersonaFile file = find_persona(arguments);
  use(chat, file);
  std::string text =
      fmt::format("{} answers from here on{}{}.", arguments, file.about.empty() ? "" : ": ", file.about);
  for (const auto& [name, value] : file.persona.settings) text += fmt::format("\n  {} = {}", name, value);
  chat.front_end().command_output("persona", text);
}

void do_prompt(ChatParts& chat, std::string_view arguments) {
  if (arguments.empty())
    return chat.front_end().command_output("prompt", listed(all_prompts(), "", "prompts"));
  const auto [name, rest] = split(arguments);
  const std::string text = fill_prompt(find_prompt(name), name, words_of(rest));
  // Whoever gives a word with an @ to a template means a file. What looks like one is told with the turn.
  std::vector<WithoutFile> missing = without_file(rest, /*any=*/true);
  for (const WithoutFile& told : without_file(text)) std::erase(missing, told);
  tell_without_file(chat, missing);
  add_user_turn(chat, text);
}

}  // namespace bitnet
