// Files that a person names to be written: exports, recordings, screenshots, numbers of the model.
//
// Thread rule: an OutputFile belongs to one thread; free functions, any thread.
//
// A new file has mode 0600. Nothing that is there is lost and no symbolic link is followed, unless the person
// asked for it; what a script says is written below one folder only.
#pragma once

#include <string>
#include <string_view>

namespace bitnet {

struct WriteRules {
  bool overwrite = false;  // a regular file or a link of this name gives way to a new file
  std::string below;       // a folder: nothing is written anywhere else; empty: everywhere
  // How to get what was refused, for messages.
  const char* to_overwrite = "--force overwrites it";
};

// What a script may do that is run in this folder. Throws Error(runtime) where there is no such folder.
WriteRules rules_for_script(bool overwrite);

class OutputFile {
 public:
  // "~/" is the home folder. A pipe or a terminal that is there is written into. Throws Error(runtime) that
  // names the file and what can be done.
  OutputFile(const std::string& path, const WriteRules& rules);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view bytes);      // at once; after the first failure nothing happens any more
  bool failed() const { return failed_; }  // not everything could be written
  void finish();                           // throws Error(runtime) where not everything is in the file
  void discard();                          // takes away a new file that did not become whole

 private:
  std::string path_;  // as the person wrote it
  std::string name_;
  int folder_ = -1;  // of a new file
  int fd_ = -1;
  bool failed_ = false;
  int reason_ = 0;  // errno of the first failure
};

// A whole file. Where it cannot be written to its end, no part of it stays.
void write_file(const std::string& path, std::string_view bytes, const WriteRules& rules);

}  // namespace bitnet
