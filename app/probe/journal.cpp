#include "journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "app/base/descriptor.h"
#include "engine/error.h"
#include "engine/json_reader.h"

namespace bitnet {
namespace {

using nlohmann::ordered_json;

constexpr const char* kWrites = R"({"writes":true})";
constexpr int kCareful = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;  // whatever has the name

[[noreturn]] void refuse_file(const std::string& file, const char* why) {
  throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(file), why));
}

std::string lines_of(const std::string& path) { return path + ".jsonl"; }

bool is_regular(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

int open_file(const std::string& file, int how) {
  const int fd = open(file.c_str(), how | kCareful, 0600);
  if (fd < 0) refuse_file(file, std::strerror(errno));
  if (is_regular(fd)) return fd;
  close(fd);
  refuse_file(file, "is no regular file");
}

// The bytes of the first line that are there: fewer than all where the program ended while it wrote them.
// Nothing where there is no such file, or one that begins otherwise.
std::optional<size_t> n_begun(const std::string& path, const std::string& job) {
  const Descriptor in{open(lines_of(path).c_str(), O_RDONLY | kCareful)};
  if (in.fd < 0 || !is_regular(in.fd)) return std::nullopt;
  std::string line(job.size() + 1, '\0');
  const ssize_t n = pread(in.fd, line.data(), line.size(), 0);
  if (n < 0 || !(job + "\n").starts_with(line.substr(0, static_cast<size_t>(n)))) return std::nullopt;
  return static_cast<size_t>(n);
}

}  // namespace

Journal::Owned::~Owned() {
  if (fd >= 0) close(fd);
}

Journal::Journal(const std::string& path, const std::string& job, size_t n_rows, size_t row_floats,
                 const IsRecord& is_record, bool writes)
    : path_(path), n_rows_(n_rows), row_bytes_(row_floats * sizeof(float)) {
  const bool goes_on = is_there(path, job);
  const int how = O_RDWR | O_CREAT | (goes_on ? 0 : O_EXCL);
  lines_.fd = open_file(lines_of(path), how | O_APPEND);
  if (!goes_on) put(lines_.fd, fmt::format("{}\n{}{}", job, writes ? kWrites : "", writes ? "\n" : ""), -1);
  values_.fd = open_file(path, how);
  if (!goes_on) return;
  read_lines(job, is_record);
  if (ftruncate(lines_.fd, lines_end_) != 0) fail();
  if (writes) note_writes();
}

bool Journal::is_there(const std::string& path, const std::string& job) {
  return n_begun(path, job) == job.size() + 1;
}

bool Journal::writes(const std::string& path, const std::string& job) {
  if (!is_there(path, job)) return false;
  std::ifstream in(lines_of(path));
  for (std::string line; std::getline(in, line);)
    if (line == kWrites && !in.eof()) return true;
  return false;
}

void Journal::make_room(const std::string& path, const std::string& job, bool overwrite) {
  for (const std::string& file : {path, lines_of(path)}) {
    struct stat about {};
    if (lstat(file.c_str(), &about) != 0) continue;
    if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode)) refuse_file(file, "is no regular file");
    if (!overwrite && (file == path || !n_begun(path, job)))
      refuse_file(file, "is there already, and of no probe with these options; --force overwrites it");
    if (unlink(file.c_str()) != 0) refuse_file(file, std::strerror(errno));
  }
}

void Journal::add(size_t row, const std::vector<float>& values, const ordered_json& record) {
  put(values_.fd, {reinterpret_cast<const char*>(values.data()), row_bytes_},
      static_cast<off_t>(row * row_bytes_));
  const ordered_json line = {{"row", row}, {"record", record}};
  put(lines_.fd, line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n", -1);
  done_[row] = record;
}

void Journal::note_writes() { put(lines_.fd, fmt::format("{}\n", kWrites), -1); }

std::vector<float> Journal::values(size_t row, size_t begin, size_t n) const {
  std::vector<float> values(n);
  const auto at = static_cast<off_t>(row * row_bytes_ + begin * sizeof(float));
  if (pread(values_.fd, values.data(), n * sizeof(float), at) != static_cast<ssize_t>(n * sizeof(float)))
    fail();
  return values;
}

void Journal::remove() {
  unlink(path_.c_str());
  unlink(lines_of(path_).c_str());
}

void Journal::fail() const { refuse_file(path_, std::strerror(errno)); }

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

// Reads lines up to one that is neither a record of a row nor kWrites, as it was being written when the
// program ended, or whose values did not get to the disk.
void Journal::read_lines(const std::string& job, const IsRecord& is_record) {
  struct stat about {};
  if (fstat(values_.fd, &about) != 0) fail();
  const size_t n_rows = std::min(n_rows_, static_cast<size_t>(about.st_size) / row_bytes_);
  std::ifstream in(lines_of(path_));
  std::string line;
  std::getline(in, line);  // the job
  for (lines_end_ = std::ssize(job) + 1; std::getline(in, line) && !in.eof() && is_json(line);
       lines_end_ = in.tellg()) {
    if (line == kWrites) continue;
    const ordered_json row = read_ordered_json(line);
    if (!row.is_object() || !row.contains("row") || !row["row"].is_number_unsigned()) break;
    const auto index = row["row"].get<size_t>();
    if (index >= n_rows || !row.contains("record") || !is_record(row["record"])) break;
    done_[index] = row["record"];
  }
}

}  // namespace bitnet
