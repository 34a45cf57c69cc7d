#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/error.h"
#include "engine/json_reader.h"

namespace bitnet {

using nlohmann::ordered_json;

Journal::Owned::~Owned() {
  if (fd >= 0) close(fd);
}

Journal::Journal(const std::string& path, const std::string& job, size_t row_floats)
    : path_(path), row_bytes_(row_floats * sizeof(float)) {
  const bool goes_on = read_lines(job);
  const int how = O_CREAT | O_CLOEXEC | O_NOFOLLOW | (goes_on ? 0 : O_TRUNC);
  values_.fd = open(path_.c_str(), O_RDWR | how, 0600);
  lines_.fd = open((path_ + ".jsonl").c_str(), O_WRONLY | O_APPEND | how, 0600);
  if (values_.fd < 0 || lines_.fd < 0) fail();
  if (!goes_on)
    put(lines_.fd, job + "\n", -1);
  else if (ftruncate(lines_.fd, lines_end_) != 0)
    fail();
}

bool Journal::is_there(const std::string& path, const std::string& job) {
  std::ifstream in(path + ".jsonl");
  std::string line;
  return std::getline(in, line) && line == job;
}

void Journal::add(size_t row, const std::vector<float>& values, const ordered_json& record) {
  put(values_.fd, {reinterpret_cast<const char*>(values.data()), row_bytes_},
      static_cast<off_t>(row * row_bytes_));
  const ordered_json line = {{"row", row}, {"record", record}};
  put(lines_.fd, line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n", -1);
  done_[row] = record;
}

std::vector<float> Journal::values(size_t row, size_t begin, size_t n) const {
  std::vector<float> values(n);
  const auto at = static_cast<off_t>(row * row_bytes_ + begin * sizeof(float));
  if (pread(values_.fd, values.data(), n * sizeof(float), at) != static_cast<ssize_t>(n * sizeof(float)))
    fail();
  return values;
}

void Journal::remove() {
  unlink(path_.c_str());
  unlink((path_ + ".jsonl").c_str());
}

void Journal::fail() const {
  throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(path_), std::strerror(errno)));
}

// Writes at an offset, or at the end where that is negative.
void Journal::put(int fd, std::string_view bytes, off_t at) const {
  while (!bytes.empty()) {
    const ssize_t n =
        at < 0 ? ::write(fd, bytes.data(), bytes.size()) : pwrite(fd, bytes.data(), bytes.size(), at);
    if (n < 0 && errno != EINTR) fail();
    if (n <= 0) continue;
    bytes.remove_prefix(static_cast<size_t>(n));
    if (at >= 0) at += n;
  }
}

// Reads lines up to one that was being written when the program ended, or whose values did not get to the
// disk. Returns whether the files are of this job.
bool Journal::read_lines(const std::string& job) {
  std::ifstream in(path_ + ".jsonl");
  std::string line;
  if (!std::getline(in, line) || line != job) return false;
  std::error_code missing;
  const uintmax_t bytes = std::filesystem::file_size(path_, missing);
  const size_t n_rows = missing ? 0 : bytes / row_bytes_;
  for (lines_end_ = in.tellg(); std::getline(in, line) && !in.eof() && is_json(line);
       lines_end_ = in.tellg()) {
    const ordered_json row = read_ordered_json(line);
    const auto index = row.at("row").get<size_t>();
    if (index >= n_rows) break;
    done_[index] = row.at("record");
  }
  return true;
}

}  // namespace bitnet
