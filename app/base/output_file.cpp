#include "output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "engine/error.h"
#include "places.h"

namespace bitnet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(path), why));
}

[[noreturn]] void refuse_errno(const std::string& path, int reason) {
  refuse(path, fmt::format("cannot be written: {}", std::strerror(reason)));
}

void close_one(int& fd) {
  if (fd >= 0) close(std::exchange(fd, -1));
}

// Opens the folder of `target`. With `below`, no step on the way there follows a link: the links of the path
// were resolved before it was compared, and one that appears meanwhile is refused.
int open_folder(const std::string& path, const fs::path& target, const std::string& below) {
  constexpr int kHow = O_PATH | O_DIRECTORY | O_CLOEXEC;
  const fs::path parent = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (below.empty()) {
    const int fd = open(parent.c_str(), kHow);
    if (fd < 0) refuse_errno(path, errno);
    return fd;
  }
  std::error_code problem;
  const fs::path folder = fs::canonical(parent, problem);
  if (problem) refuse_errno(path, problem.value());
  const fs::path steps = folder.lexically_relative(below);
  if (steps.empty() || *steps.begin() == "..") {
    refuse(path,
           fmt::format("a script may write only below {}, the folder it is run in; --allow-writes lets it "
                       "write anywhere",
                       printable(below)));
  }
  int at = open(below.c_str(), kHow);
  for (const fs::path& step : steps) {
    if (at < 0) break;
    if (step == ".") continue;
    const int next = openat(at, step.c_str(), kHow | O_NOFOLLOW);
    const int reason = errno;
    close_one(at);
    at = next;
    errno = reason;
  }
  if (at < 0) refuse_errno(path, errno);
  return at;
}

// Whether a link at this path is the system's, as /dev/stdout is, and none that somebody put there.
bool is_of_the_system(const std::string& target) {
  const std::string path = fs::path(target).lexically_normal();
  const bool of_devices =
      path.starts_with("/dev/") && !path.starts_with("/dev/shm/") && !path.starts_with("/dev/mqueue/");
  return of_devices || path.starts_with("/proc/");
}

// Opens a pipe or a terminal, in which nothing can be overwritten. -1: `target` is neither, or a link that
// somebody may have put there. A link of the system that leads to something else is refused: a new file must
// not take its place.
int open_stream(const std::string& path, const std::string& target) {
  const auto is_stream = [](const struct stat& about) {
    return S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode);
  };
  struct stat about {};
  if (lstat(target.c_str(), &about) != 0 || (S_ISLNK(about.st_mode) && !is_of_the_system(target))) return -1;
  const bool is_link = S_ISLNK(about.st_mode);
  const bool leads = stat(target.c_str(), &about) == 0;
  if (is_link && leads && S_ISREG(about.st_mode)) refuse(path, "leads to a file here; name that file");
  if (is_link && !(leads && is_stream(about))) refuse(path, "is no regular file");
  if (!leads || !is_stream(about)) return -1;
  // A pipe that nobody reads is refused instead of waited for.
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO) refuse(path, "is a pipe that nobody reads");
  if (fd < 0) refuse_errno(path, errno);
  if (fstat(fd, &about) != 0 || !is_stream(about)) {
    close(fd);
    refuse(path, "is no regular file");
  }
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

// Makes sure that a new file can have this name. Returns the mode of the file or link that gives way to it.
std::optional<mode_t> mode_of_old(const std::string& path, int folder, const std::string& name,
                                  const WriteRules& rules) {
  struct stat about {};
  if (fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (S_ISDIR(about.st_mode)) refuse(path, "is a folder");
  if (!S_ISREG(about.st_mode) && !S_ISLNK(about.st_mode)) refuse(path, "is no regular file");
  if (!rules.overwrite) {
    refuse(path, fmt::format("is there already{}; {}", S_ISLNK(about.st_mode) ? ", as a symbolic link" : "",
                             rules.to_overwrite));
  }
  return about.st_mode;
}

// Nobody who may write into the folder too can put something there beforehand.
std::string unforeseen_name() {
  std::random_device device;
  return fmt::format(".bitnet-chat-{:08x}{:08x}.new", device(), device());
}

// Renames a file unless the name is taken. Not every disk can do both in one step.
bool rename_new(int folder, const std::string& from, const std::string& to) {
  if (renameat2(folder, from.c_str(), folder, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  struct stat about {};
  if (fstatat(folder, to.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return false;
  }
  return renameat(folder, from.c_str(), folder, to.c_str()) == 0;
}

}  // namespace

WriteRules rules_for_script(bool overwrite) {
  std::error_code problem;
  const fs::path here = fs::current_path(problem);
  const fs::path folder = problem ? here : fs::canonical(here, problem);
  if (problem) throw Error(ErrorKind::runtime, fmt::format("the current folder: {}", problem.message()));
  return {overwrite, folder, "--force lets a script overwrite it"};
}

bool is_terminal(const std::string& path) {
  const std::string target = expand_home(path);
  struct stat about {};
  // A pipe that is opened and closed has come to its end for whoever reads it.
  if (stat(target.c_str(), &about) != 0 || !S_ISCHR(about.st_mode)) return false;
  const int fd = open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const bool yes = fd >= 0 && isatty(fd) == 1;
  if (fd >= 0) close(fd);
  return yes;
}

OutputFile::OutputFile(const std::string& path, const WriteRules& rules)
    : path_(path), overwrites_(rules.overwrite) {
  const fs::path target = expand_home(path);
  name_ = target.filename();
  if (name_.empty() || name_ == "." || name_ == "..") refuse(path, "is a folder, and no name of a file");
  if (rules.below.empty()) fd_ = open_stream(path, target);
  if (fd_ >= 0) return;
  folder_ = open_folder(path, target, rules.below);
  try {
    const std::optional<mode_t> old = mode_of_old(path, folder_, name_, rules);
    written_ = unforeseen_name();
    fd_ = openat(folder_, written_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd_ < 0) refuse_errno(path, errno);
    // Where a disk knows no such bits, the file is for its owner alone.
    if (old && S_ISREG(*old)) static_cast<void>(fchmod(fd_, *old & 0777));
  } catch (...) {
    close_one(folder_);
    throw;
  }
}

OutputFile::~OutputFile() {
  if (has_other_name()) unlinkat(folder_, written_.c_str(), 0);
  close_one(fd_);
  close_one(folder_);
}

void OutputFile::write(std::string_view bytes) {
  while (!failed_ && !bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      note_failure(errno);
    }
  }
}

void OutputFile::note_failure(int reason) {
  if (!failed_) reason_ = reason;
  failed_ = true;
}

void OutputFile::take_name() {
  if (!has_other_name()) return;
  const bool taken = overwrites_ ? renameat(folder_, written_.c_str(), folder_, name_.c_str()) == 0
                                 : rename_new(folder_, written_, name_);
  if (!taken) return note_failure(errno);
  written_ = name_;
}

void OutputFile::finish() {
  // A power cut leaves the old file or the new one, and no name without bytes.
  if (fd_ >= 0 && has_other_name() && fsync(fd_) != 0) note_failure(errno);
  const int fd = std::exchange(fd_, -1);
  // A network disk may report only now that it is full.
  if (fd >= 0 && close(fd) != 0 && errno != EINTR) note_failure(errno);
  if (!failed_) take_name();
  if (failed_) refuse_errno(path_, reason_);
}

void OutputFile::discard() {
  if (folder_ >= 0) unlinkat(folder_, written_.c_str(), 0);
  close_one(folder_);
}

void write_file(const std::string& path, std::string_view bytes, const WriteRules& rules) {
  OutputFile file(path, rules);
  file.write(bytes);
  try {
    file.finish();
  } catch (const Error&) {
    file.discard();
    throw;
  }
}

}  // namespace bitnet
