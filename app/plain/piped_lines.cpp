#include "piped_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "app/text/text_file.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr const char* kQuotes = "\"\"\"";

void check_length(size_t bytes) {
  if (bytes > kMostNamedBytes)
    throw Error(ErrorKind::usage, "standard input: a turn is longer than 16 MiB, the most that is read here");
}

}  // namespace

void PipedLines::read_some() {
  char bytes[1 << 16];
  const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  ended_ = n <= 0;
  if (n > 0) bytes_.append(bytes, static_cast<size_t>(n));
}

std::optional<std::string> PipedLines::next() {
  while (const auto line = next_line()) {
    if (*line == kQuotes) {
      if (block_) return std::exchange(block_, std::nullopt);
      block_.emplace();
      first_of_block_ = true;
    } else if (block_) {
      *block_ += (first_of_block_ ? "" : "\n") + *line;
      first_of_block_ = false;
      check_length(block_->size());
    } else {
      return line;
    }
  }
  if (ended_ && block_) throw Error(ErrorKind::usage, "standard input: the block has no closing \"\"\"");
  return std::nullopt;
}

std::optional<std::string> PipedLines::next_line() {
  size_t end = bytes_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = bytes_.size();
    check_length(scanned_ + (block_ ? block_->size() : 0));
    if (!ended_ || bytes_.empty()) return std::nullopt;
    end = bytes_.size();
  }
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, std::min(end + 1, bytes_.size()));
  scanned_ = 0;
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

}  // namespace bitnet
