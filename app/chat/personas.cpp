#include "personas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>

#include "app/base/blank.h"
#include "app/base/nearest.h"
#include "app/base/places.h"
#include "app/text/text_file.h"
#include "engine/error.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 64 << 10;
constexpr size_t kMostFiles = 500;
constexpr size_t kLongestName = 40;

[[noreturn]] void fail(std::string_view file, size_t line, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("{}:{}: {}", printable(file), line, why));
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
  });
}

// The files of a kind by name, those of the config folder before ours.
std::map<std::string, fs::path> files_of(const char* kind) {
  std::map<std::string, fs::path> files;
  for (const fs::path& folder : {fs::path(config_folder()), shared_folder()}) {
    std::error_code error;  // a folder that is not there has none
    if (folder.empty()) continue;
    for (fs::directory_iterator at(folder / kind, error), end; !error && at != end; at.increment(error)) {
      const fs::path& path = at->path();
      if (path.extension() == ".txt" && is_name(path.stem().string()) && files.size() < kMostFiles)
        files.try_emplace(path.stem().string(), path);
    }
  }
  return files;
}

std::string text_of_file(const char* kind, const char* what, std::string_view name, std::string& file) {
  const auto files = files_of(kind);
  const auto found = files.find(std::string(name));
  if (found == files.end()) {
    std::vector<std::string> names;
    for (const auto& [known, path] : files) names.push_back(known);
    const std::string near = nearest(name.substr(0, kLongestName), names);
    throw Error(ErrorKind::usage, fmt::format("there is no {} '{}'; {}", what, printable(name, 40),
                                              near.empty() ? fmt::format("/{} lists them", what)
                                                           : "did you mean " + near + "?"));
  }
  file = found->second.string();
  return read_text_file(file, kMostBytes);
}

// {{2*:otherwise}}
struct Placeholder {
  size_t first = 1;   // word, from 1
  bool rest = false;  // and all after it
  std::optional<std::string> otherwise;
};

std::optional<Placeholder> placeholder(std::string_view inside) {
  Placeholder found;
  if (const size_t colon = inside.find(':'); colon != std::string_view::npos) {
    found.otherwise = inside.substr(colon + 1);
    inside = inside.substr(0, colon);
  }
  inside = trim(inside);
  if (inside.ends_with('*')) {
    found.rest = true;
    inside.remove_suffix(1);
  }
  if (inside.empty() && found.rest) return found;
  if (inside.size() != 1 || inside[0] < '1' || inside[0] > '9') return std::nullopt;
  found.first = static_cast<size_t>(inside[0] - '0');
  return found;
}

// Calls `text` for what stands between the placeholders, and `place` for each of them.
template <typename Text, typename Place>
void walk(std::string_view text, const Text& on_text, const Place& on_place) {
  while (true) {
    const size_t begin = std::min(text.find("{{"), text.size());
    on_text(text.substr(0, begin));
    if (begin == text.size()) return;
    const size_t end = text.find("}}", begin);
    on_place(text.substr(begin, end == std::string_view::npos ? end : end + 2 - begin));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 2);
  }
}

std::string_view inside_of(std::string_view place) {
  return place.size() < 4 ? std::string_view() : place.substr(2, place.size() - 4);
}

template <typename Parse>
std::vector<NamedText> all_of(const char* kind, const Parse& parse) {
  std::vector<NamedText> all;
  const fs::path ours = shared_folder();
  for (const auto& [name, path] : files_of(kind)) {
    NamedText entry;
    entry.name = name;
    entry.is_ours = path.parent_path().parent_path() == ours;
    try {
      entry.about = parse(read_text_file(path.string(), kMostBytes), name, path.string()).about;
    } catch (const Error& error) {
      entry.problem = error.what();
    }
    all.push_back(std::move(entry));
  }
  return all;
}

}  // namespace

PersonaFile parse_persona(std::string_view text, std::string_view name, std::string_view file) {
  PersonaFile result;
  result.persona.name = name;
  ChatSettings scratch;
  size_t number = 0;
  bool has_prompt = false;
  for (size_t at = 0; at < text.size() && !has_prompt;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    at = std::min(end + 1, text.size());
    ++number;
    if (line.empty() || line[0] == '#') continue;
    if (line == "---") {
      has_prompt = true;
      result.system = text.substr(at);
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      fail(file, number,
           fmt::format("wanted 'setting = value', or --- before the system prompt; found '{}'",
                       printable(line, 40)));
    }
    const std::string key(trim(line.substr(0, equals)));
    const std::string value(trim(line.substr(equals + 1)));
    if (key == "about") {
      result.about = value;
      continue;
    }
    if (key == "ctx") fail(file, number, "ctx is not a persona's to set");
    try {
      setting_named(key).read(scratch, value);
    } catch (const Error& error) {
      fail(file, number, error.what());
    }
    result.persona.settings.emplace_back(key, value);
  }
  if (!has_prompt || result.system.find_first_not_of(" \n\t") == std::string::npos) {
    fail(file, std::max<size_t>(number, 1),
         has_prompt ? "the system prompt below --- is empty"
                    : "wanted a line --- and the system prompt below it");
  }
  return result;
}

PromptTemplate parse_prompt(std::string_view text, std::string_view file) {
  PromptTemplate result;
  size_t number = 1;
  while (text.starts_with('#')) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (result.about.empty()) result.about = trim(text.substr(1, end - 1));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
  }
  if (text.find_first_not_of(" \n\t") == std::string_view::npos) fail(file, number, "the template is empty");
  result.text = text;
  const auto count_lines = [&](std::string_view part) {
    number += static_cast<size_t>(std::count(part.begin(), part.end(), '\n'));
  };
  walk(text, count_lines, [&](std::string_view place) {
    if (!place.ends_with("}}")) fail(file, number, "{{ has no }} behind it");
    if (!placeholder(inside_of(place))) {
      fail(file, number,
           fmt::format("wanted {{{{1}}}} to {{{{9}}}}, {{{{2*}}}} or {{{{*}}}}; found '{}'",
                       printable(place, 40)));
    }
    count_lines(place);
  });
  return result;
}

std::string fill_prompt(const PromptTemplate& prompt, std::string_view name,
                        const std::vector<std::string>& words) {
  std::string out;
  size_t used = 0;
  walk(
      prompt.text, [&](std::string_view text) { out += text; },
      [&](std::string_view place) {
        const Placeholder wanted = *placeholder(inside_of(place));
        used = std::max(used, wanted.rest ? words.size() : wanted.first);
        if (wanted.first > words.size()) {
          if (!wanted.otherwise) {
            throw Error(ErrorKind::usage,
                        fmt::format("/prompt {} wants {} more{}{}", printable(name, 40),
                                    wanted.first == words.size() + 1 ? "one word" : "words",
                                    prompt.about.empty() ? "" : ": ", printable(prompt.about, 200)));
          }
          out += *wanted.otherwise;
          return;
        }
        const size_t end = wanted.rest ? words.size() : wanted.first;
        for (size_t i = wanted.first - 1; i < end; ++i) {
          if (i + 1 > wanted.first) out += ' ';
          out += words[i];
        }
      });
  if (used < words.size()) {
    throw Error(ErrorKind::usage, fmt::format("/prompt {} takes {}, found {}; quotes make several words one",
                                              printable(name, 40), used, words.size()));
  }
  return out;
}

PersonaFile find_persona(std::string_view name) {
  std::string file;
  const std::string text = text_of_file("personas", "persona", name, file);
  return parse_persona(text, name, file);
}

PromptTemplate find_prompt(std::string_view name) {
  std::string file;
  const std::string text = text_of_file("prompts", "prompt", name, file);
  return parse_prompt(text, file);
}

std::vector<NamedText> all_personas() {
  std::vector<NamedText> all =
      all_of("personas", [](const std::string& text, const std::string& name, const std::string& file) {
        return parse_persona(text, name, file);
      });
  for (NamedText& entry : all) {
    if (entry.name == "none")
      entry.problem = "this name is taken, as /persona none takes leave of one; rename the file";
  }
  return all;
}

std::vector<NamedText> all_prompts() {
  return all_of("prompts", [](const std::string& text, const std::string&, const std::string& file) {
    return parse_prompt(text, file);
  });
}

}  // namespace bitnet
