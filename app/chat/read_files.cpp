#include "read_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/base/counted.h"
#include "app/text/text_file.h"
#include "mentions.h"

namespace bitnet {

std::string with_files(const std::vector<AttachedFile>& files, std::string_view typed) {
  std::string text;
  for (const AttachedFile& file : files) text += fmt::format("{}:\n\n{}\n\n", file.name, file.text);
  return text + std::string(typed);
}

bool has_file(std::string_view turn, std::string_view name) {
  const std::string heading = fmt::format("{}:\n\n", name);
  return turn.starts_with(heading) || turn.find("\n\n" + heading) != std::string_view::npos;
}

std::string_view without_named_files(std::string_view turn) {
  const auto take_off_one = [&] {
    for (const Mention& mention : mentions_in(turn)) try {
        const AttachedFile file{.name = file_name_of(mention.path),
                                .text = read_text_file(mention.path, kMostFileBytes)};
        const std::string before = with_files({file}, "");
        if (!turn.starts_with(before)) continue;
        turn.remove_prefix(before.size());
        return true;
      } catch (const Error&) {  // it is not what was read
      }
    return false;
  };
  while (take_off_one()) continue;
  return turn;
}

std::string file_name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

size_t ReadFiles::tokens(std::string_view without) const {
  size_t tokens = 0;
  for (const AttachedFile& file : files_) tokens += file.path == without ? 0 : file.tokens;
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
  std::erase_if(files_, [&](const AttachedFile& before) { return before.path == file.path; });
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
  for (AttachedFile& file : files) (file.named ? named_ : files_).push_back(std::move(file));
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
