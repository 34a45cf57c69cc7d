#include "read_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/base/counted.h"

namespace bitnet {

std::string with_files(const std::vector<AttachedFile>& files, std::string_view typed) {
  std::string text;
  for (const AttachedFile& file : files) text += fmt::format("{}:\n\n{}\n\n", file.name, file.text);
  return text + std::string(typed);
}

size_t ReadFiles::tokens() const {
  size_t tokens = 0;
  for (const AttachedFile& file : files_) tokens += file.tokens;
  for (const AttachedFile& file : named_) tokens += file.tokens;
  return tokens;
}

std::string ReadFiles::list() const {
  std::string text;
  for (const AttachedFile& file : files_)
    text += fmt::format("  {} ({})\n", file.name, counted(file.text.size(), "byte"));
  return text;
}

bool ReadFiles::has(std::string_view path) const {
  return std::any_of(files_.begin(), files_.end(),
                     [&](const AttachedFile& file) { return file.path == path; });
}

void ReadFiles::add(AttachedFile file) {
  files_.push_back(std::move(file));
  tell();
}

void ReadFiles::set_named(std::vector<AttachedFile> files) {
  if (files.empty() && named_.empty()) return;
  named_ = std::move(files);
  tell();
}

void ReadFiles::count(const Tokenizer& tokenizer) {
  if (empty()) return;
  for (AttachedFile& file : files_) file.tokens = tokenizer.encode(file.text, false).size();
  for (AttachedFile& file : named_) file.tokens = tokenizer.encode(file.text, false).size();
  tell();
}

std::string ReadFiles::take_out_last() {
  std::vector<AttachedFile>& files = named_.empty() ? files_ : named_;
  std::string path = std::move(files.back().path);
  files.pop_back();
  tell();
  return path;
}

void ReadFiles::clear() {
  files_.clear();
  named_.clear();
  tell();
}

void ReadFiles::drop() {
  if (files_.empty()) return;
  std::string names;
  for (const AttachedFile& file : std::exchange(files_, {})) names += (names.empty() ? "" : ", ") + file.name;
  tell();
  reporter_.front_end().notice(
      fmt::format("Not in your next turn any more: {}. /read puts a file in again.", names));
}

std::vector<AttachedFile> ReadFiles::take() {
  if (empty()) return {};
  std::vector<AttachedFile> taken = std::exchange(files_, {});
  for (AttachedFile& file : std::exchange(named_, {})) taken.push_back(std::move(file));
  tell();
  return taken;
}

void ReadFiles::put_back(std::vector<AttachedFile> files) {
  if (files.empty()) return;
  for (AttachedFile& file : files) files_.push_back(std::move(file));
  tell();
}

void ReadFiles::tell() {
  Status& status = reporter_.status();
  status.pending.clear();
  for (const auto* files : {&files_, &named_}) {
    for (const AttachedFile& file : *files)
      status.pending.push_back({file.name, file.text.size(), file.tokens});
  }
  reporter_.send_status();
}

}  // namespace bitnet
