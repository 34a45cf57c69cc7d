#include "config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "app/base/blank.h"
#include "app/base/nearest.h"
#include "app/base/places.h"
#include "app/text/text_file.h"
#include "engine/error.h"
#include "engine/json_reader.h"
#include "option_table.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

// A file that is there may say that nothing is to be saved, so we do not go on without it by ourselves.
std::string read_text(const std::string& path) try {
  std::string text = read_file(path, kMostNamedBytes, Pipes::of_the_shell);
  if (text.find('\0') != std::string::npos) {
    throw Error(ErrorKind::usage, fmt::format("{}: wanted a config file, which is text, found something else",
                                              printable(path)));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
} catch (const Error& error) {
  throw Error(error.kind(), fmt::format("{} (--config /dev/null reads none)", error.what()));
}

const OptionRow* find_key(std::string_view key) {
  std::string wanted(key);
  std::replace(wanted.begin(), wanted.end(), '_', '-');
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& row : group.rows) {
      if (option_key(row) == wanted) return &row;
    }
  }
  return nullptr;
}

const OptionRow& known_key(std::string_view key) {
  const OptionRow* row = find_key(key);
  if (row != nullptr && row->example != nullptr) return *row;
  if (row != nullptr) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is for the command line, not for a config file", printable(key, 40)));
  }
  std::vector<std::string> keys;
  for (const OptionGroup& group : option_groups()) {
    for (const OptionRow& known : group.rows) {
      if (known.example != nullptr) keys.push_back(option_key(known));
    }
  }
  const std::string meant = nearest(key, keys);
  throw Error(ErrorKind::usage, fmt::format("there is no key '{}'; {}", printable(key, 40),
                                            meant.empty() ? "'bitnet-chat print config' lists them"
                                                          : "did you mean " + meant + "?"));
}

std::string unquote(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  const nlohmann::json text = is_json(value) ? read_json(value) : nlohmann::json();
  if (!text.is_string()) {
    throw Error(ErrorKind::usage,
                fmt::format("wanted a text between two \", with \\\" for a \" in it, found {}",
                            printable(value, 40)));
  }
  return text.get<std::string>();
}

// A path in a config file means the same file wherever the program is started.
std::string resolve(const std::string& file, const fs::path& folder) {
  if (std::string expanded = expand_home(file); expanded != file) return expanded;
  return fs::path(file).is_absolute() ? file : (folder / file).string();
}

std::string resolve_value(const OptionRow& row, std::string value, const fs::path& folder) {
  if (value.empty()) return value;
  const std::string_view words = row.words;
  if (words == "%file") return resolve(value, folder);
  if (words == "%model") {
    const std::string file = resolve(value, folder);
    std::error_code unknown;
    const bool is_file = fs::exists(file, unknown) || unknown || value.starts_with("~/");
    return is_file ? file : value;  // otherwise it is the name of a pulled model
  }
  if (std::string_view(row.value) == "TEXT|@FILE" && value.starts_with('@')) {
    return fmt::format("@{}", resolve(value.substr(1), folder));
  }
  return value;
}

void read_line(std::string_view line, const fs::path& folder, size_t number,
               std::map<const OptionRow*, size_t>& seen, Options& options) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    throw Error(ErrorKind::usage, fmt::format("wanted KEY = VALUE, found '{}'", printable(line, 40)));
  }
  const OptionRow& row = known_key(trim(line.substr(0, equals)));
  const auto [before, is_new] = seen.emplace(&row, number);
  if (!is_new && !row.repeats) {
    throw Error(ErrorKind::usage,
                fmt::format("{} is set in line {} already", option_key(row), before->second));
  }
  const std::string_view value = trim(line.substr(equals + 1));
  try {
    read_option(row, options, resolve_value(row, unquote(value), folder));
  } catch (const Error& error) {
    const bool comment = !value.starts_with('"') && value.find(" #") != std::string_view::npos;
    throw Error(ErrorKind::usage,
                fmt::format("{}{}", error.what(), comment ? " (a comment has a line of its own)" : ""));
  }
}

}  // namespace

std::string default_config_path() {
  const std::string folder = config_folder();
  return folder.empty() ? std::string() : folder + "/config";
}

void read_config(const std::string& path, bool required, Options& options) {
  std::error_code unknown;
  if (path.empty() || (!required && fs::symlink_status(path, unknown).type() == fs::file_type::not_found))
    return;
  const std::string text = read_text(path);
  const fs::path folder = fs::absolute(path).parent_path();
  std::map<const OptionRow*, size_t> seen;
  size_t number = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    try {
      read_line(line, folder, number, seen, options);
    } catch (const Error& error) {
      throw Error(ErrorKind::usage, fmt::format("{}:{}: {}", printable(path), number, error.what()));
    }
  }
}

}  // namespace bitnet
