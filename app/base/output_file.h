// Writes files that a person names: exports, recordings, screenshots, numbers of the model. A new file has
// mode 0600. No existing file is lost and no symbolic link is followed, unless the person asked for it. A
// script writes below one folder only.
//
// A file has its name only once it is whole, and what it overwrites stays until then: it is written in the
// same folder under a name that nobody can foresee, with the permissions of the file that it replaces, and
// takes its name in finish().
//
// Thread rule: an OutputFile belongs to one thread; free functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

struct WriteRules {
  bool overwrite = false;  // a regular file or a link of this name gives way to a new file
  std::string below;       // a folder: writing is allowed nowhere else; empty: it is allowed everywhere
  // Tells people how to overwrite after all, in messages.
  const char* to_overwrite = "--force overwrites it";
};

// The rules for a script that runs in the current folder. Throws Error(runtime) if there is no such folder.
WriteRules rules_for_script(bool overwrite);

class OutputFile {
 public:
  // "~/" is the home folder. If `path` is a pipe or a terminal, it is written into, but through a link only
  // one of the system's is. Throws Error(runtime) that names the file and what can be done.
  OutputFile(const std::string& path, const WriteRules& rules);
  // Of what was neither finished nor discarded nothing stays, unless it has taken its name.
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);      // writes at once; does nothing any more after a failure
  bool failed() const { return failed_; }  // whether something could not be written
  // Takes its name now and not in finish(), for what is to be there while it is written.
  void take_name();
  void finish();   // throws Error(runtime) if not everything is in the file
  void discard();  // removes what did not become whole; the file that it was to replace stays

 private:
  bool has_other_name() const { return folder_ >= 0 && written_ != name_; }
  void note_failure(int reason);  // errno of it

  std::string path_;  // as the person wrote it
  std::string name_;
  bool overwrites_;
  std::string written_;  // the name under which it is written, until it takes name_
  int folder_ = -1;      // the folder of a new file
  int fd_ = -1;
  bool failed_ = false;
  int reason_ = 0;  // errno of the first failure
};

// Whether OutputFile would write into a terminal.
bool is_terminal(const std::string& path);

// Writes a whole file. If it cannot be written to its end, no part of it stays.
void write_file(const std::string& path, std::string_view bytes, const WriteRules& rules);

}  // namespace bitnet
