// What was sent while something else ran, and waits its turn: messages with their files, and commands.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "read_files.h"
#include "reporter.h"

namespace bitnet {

class Queue {
 public:
  struct Waiting {
    std::string typed;  // as it was typed
    std::vector<AttachedFile> files;
  };

  // Both must live as long as it does.
  Queue(ReadFiles& read_files, Reporter& reporter) : read_files_(read_files), reporter_(reporter) {}

  bool empty() const { return waiting_.empty(); }
  size_t size() const { return waiting_.size(); }
  const Waiting& front() const { return waiting_.front(); }
  // A /private waits, and no /private off behind it: what is typed now is said in private.
  bool goes_private() const;

  // Each of these tells the front end what waits now. A message takes the files of the next turn along.
  void add(std::string_view typed, bool with_files);
  Waiting pop();
  bool take_back_last();  // into the input line, its files into the next turn; false: nothing waits
  void take_back_all();

 private:
  void return_to_input(Waiting waiting);
  void tell();

  ReadFiles& read_files_;
  Reporter& reporter_;
  std::deque<Waiting> waiting_;
};

}  // namespace bitnet
