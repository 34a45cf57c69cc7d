// The files that go into the next turn: those of /read, and those that its text names as @path.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "reporter.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {

// A file that goes before a turn.
struct AttachedFile {
  std::string name;
  std::string text;
  size_t tokens = 0;   // 0: not known yet
  std::string path;    // as the person named it
  bool named = false;  // by the message, as @path
};

// The turn with these files before it.
std::string with_files(const std::vector<AttachedFile>& files, std::string_view typed);
// Whether the turn has a file of this name before it.
bool has_file(std::string_view turn, std::string_view name);
// The turn without the files before it that it names and that are as they were.
std::string_view without_named_files(std::string_view turn);
std::string file_name_of(const std::string& path);  // behind its last slash
constexpr size_t kMostFileBytes = 4 << 20;          // of a file that goes before a turn

class ReadFiles {
 public:
  explicit ReadFiles(Reporter& reporter) : reporter_(reporter) {}

  bool empty() const { return files_.empty() && named_.empty(); }
  bool has(std::string_view path) const;  // put in by add() or put_back()
  // Of all of them, but the one of this path that add() put in; those that were not counted yet are left out.
  size_t tokens(std::string_view without = {}) const;
  std::string list() const;  // a line for each

  // Each of these tells the front end what is in the next turn now.
  // In place of one of the same path. 0 tokens where no model was there to ask.
  void add(AttachedFile file);
  // The files that the message names which is being typed, in place of those that it named before.
  void set_named(std::vector<AttachedFile> files);
  const std::vector<AttachedFile>& named() const { return named_; }
  void count(const Tokenizer& tokenizer);  // the model is there
  std::string take_out_last();             // returns its path; requires a file
  void clear();
  // Because the conversation changes: what was read in one must not turn up in another, least of all what was
  // read in private in one that is stored. Says so.
  void drop();
  std::vector<AttachedFile> take();  // for the next turn, which has them from now on
  void put_back(std::vector<AttachedFile> files);

 private:
  void tell();

  Reporter& reporter_;
  std::vector<AttachedFile> files_;
  std::vector<AttachedFile> named_;
};

}  // namespace bitnet
