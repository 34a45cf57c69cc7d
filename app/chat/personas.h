// Personas and prompt templates: text files in the folders personas and prompts of the config folder, and
// those that come with the program.
//
// Thread rule: free functions that read files; any thread.
//
// A persona has lines such as `temp = 0.3` (a row of /set, but not ctx) and `about = what it is for`, then a
// line `---`, then the system prompt. A template may begin with lines of `#` that say what it is for; the
// rest is sent, with {{1}}, {{2*}}, {{*}} and {{1:otherwise}} replaced. A file of the config folder hides one
// of ours with its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "settings.h"

namespace bitnet {

struct PersonaFile {
  Persona persona;
  std::string about;
  std::string system;
};

struct PromptTemplate {
  std::string about;
  std::string text;
};

struct NamedText {
  std::string name;
  std::string about;    // empty where the file is wrong
  std::string problem;  // what is wrong with it: "FILE:LINE: why"
  bool is_ours = false;
};

// Both throw Error(usage) "FILE:LINE: what is wrong".
PersonaFile parse_persona(std::string_view text, std::string_view name, std::string_view file);
PromptTemplate parse_prompt(std::string_view text, std::string_view file);
// The template with these words in their places. Throws Error(usage) for a word that is missing or too many.
std::string fill_prompt(const PromptTemplate& prompt, std::string_view name,
                        const std::vector<std::string>& words);

// Throw Error(usage) for a name that is none of them, and for a file that is wrong.
PersonaFile find_persona(std::string_view name);
PromptTemplate find_prompt(std::string_view name);

// By name. Each file is read and checked.
std::vector<NamedText> all_personas();
std::vector<NamedText> all_prompts();

}  // namespace bitnet
