#include "pull_progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <utility>

#include "app/text/text_width.h"
#include "pull_request.h"

namespace bitnet {

std::string byte_amount(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1000000) return fmt::format("{} kB", bytes / 1000);
  if (bytes < 1000000000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) / 1e9);
}

bool PullSpeed::take(uint64_t done) {
  const auto now = std::chrono::steady_clock::now();
  if (now - taken_ < std::chrono::milliseconds(200)) return false;
  const double seconds = std::chrono::duration<double>(now - taken_).count();
  if (done > last_done_ && last_done_ > 0) {
    const double speed = static_cast<double>(done - last_done_) / seconds;
    speed_ = speed_ == 0 ? speed : 0.85 * speed_ + 0.15 * speed;
  }
  last_done_ = done;
  taken_ = now;
  return true;
}

void PullSpeed::restart() {
  speed_ = 0;
  last_done_ = 0;
}

void PullProgress::show(const char* doing, uint64_t done, uint64_t total) {
  if (!err_.is_terminal() || !speed_.take(done)) return;
  std::string line = fmt::format("{}  {}", name_, byte_amount(done));
  if (total > 0) {
    line =
        fmt::format("{}  {:3} %  {} of {}", name_, done * 100 / total, byte_amount(done), byte_amount(total));
  }
  const double speed = speed_.bytes_a_second();
  if (speed > 0) line += fmt::format("  {}/s", byte_amount(static_cast<uint64_t>(speed)));
  if (speed > 0 && total > done) {
    const auto left = static_cast<uint64_t>(static_cast<double>(total - done) / speed);
    line += left < 3600 ? fmt::format("  {}:{:02} left", left / 60, left % 60)
                        : fmt::format("  {}:{:02} h left", left / 3600, left / 60 % 60);
  }
  draw(*doing == '\0' ? line : fmt::format("{}  {}", line, doing));
}

void PullProgress::say(const std::string& what) {
  clear();
  err_.write(fmt::format("{}: {}\n", name_, what));
  restart();
}

bool PullProgress::keep_going() { return stop_signal_seen() == 0; }

void PullProgress::clear() {
  if (on_screen_) err_.write("\r\x1b[K");
  on_screen_ = false;
}

void PullProgress::draw(const std::string& line) {
  winsize window = {};
  const int columns =
      ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
  err_.write(fmt::format("\r{}\x1b[K", prefix_of_columns(line, columns - 1)));
  on_screen_ = true;
}

}  // namespace bitnet
