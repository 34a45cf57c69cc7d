#include "external_editor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "app/text/text_file.h"
#include "engine/error.h"

extern char** environ;

namespace bitnet {
namespace {

std::string editor() {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "vi";
}

// A temporary file, deleted by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    const char* folder = std::getenv("TMPDIR");
    path_ = fmt::format("{}/bitnet-chat-XXXXXX.md", folder != nullptr && *folder != '\0' ? folder : "/tmp");
    const int fd = mkostemps(path_.data(), 3, O_CLOEXEC);
    if (fd < 0) {
      throw Error(ErrorKind::runtime,
                  fmt::format("{}: {}; set TMPDIR", printable(path_), std::strerror(errno)));
    }
    const ssize_t n = write(fd, text.data(), text.size());
    close(fd);
    if (n != static_cast<ssize_t>(text.size())) {
      unlink(path_.c_str());
      throw Error(ErrorKind::runtime, fmt::format("{}: cannot be written", printable(path_)));
    }
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// While the editor runs, ^C is for the editor alone, and ^Z stops both of us as one job.
class EditorSignals {
 public:
  EditorSignals() {
    struct sigaction action = {};
    action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGQUIT, &action, &quit_);
    action.sa_handler = SIG_DFL;
    sigaction(SIGTSTP, &action, &stop_);
  }
  ~EditorSignals() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGQUIT, &quit_, nullptr);
    sigaction(SIGTSTP, &stop_, nullptr);
  }
  EditorSignals(const EditorSignals&) = delete;
  EditorSignals& operator=(const EditorSignals&) = delete;

 private:
  struct sigaction interrupt_ = {};
  struct sigaction quit_ = {};
  struct sigaction stop_ = {};
};

// A shell between us and the editor tells of the signal by an exit code from 129 on.
bool was_killed(int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) > 128; }

}  // namespace

EditedText edit_externally(std::string_view text) {
  const TemporaryFile file(text);
  const std::string command = editor() + " \"$1\"";
  const EditorSignals signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (const int signal : {SIGINT, SIGQUIT, SIGPIPE}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::string arguments[] = {"sh", "-c", command, "sh", file.path()};
  char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                  arguments[3].data(), arguments[4].data(), nullptr};
  pid_t pid = 0;
  const int problem = posix_spawn(&pid, "/bin/sh", nullptr, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0) throw Error(ErrorKind::runtime, fmt::format("/bin/sh: {}", std::strerror(problem)));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  EditedText edited;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    edited.problem =
        fmt::format("the editor '{}' failed; name another in $VISUAL or $EDITOR", printable(editor(), 60));
    if (!was_killed(status)) throw Error(ErrorKind::runtime, edited.problem);
  }
  edited.text = read_file(file.path());
  const bool saved = !edited.text.empty() && edited.text != text;
  if (!edited.problem.empty() && !saved) throw Error(ErrorKind::runtime, edited.problem);
  while (edited.text.ends_with('\n')) edited.text.pop_back();
  return edited;
}

}  // namespace bitnet
