// Makes a terminal of the program's own, for a screen where there is none; what is drawn on it goes nowhere.
//
// Thread rule: there is one at a time, on the main thread; a thread of its own takes what is drawn.
#pragma once

#include <thread>

namespace bitnet {

class OwnTerminal {
 public:
  // Standard input and output are this terminal until the destructor. Throws Error(runtime).
  OwnTerminal(int columns, int rows);
  ~OwnTerminal();
  OwnTerminal(const OwnTerminal&) = delete;
  OwnTerminal& operator=(const OwnTerminal&) = delete;

 private:
  int master_ = -1;
  int former_in_ = -1;
  int former_out_ = -1;
  std::thread drain_;
};

}  // namespace bitnet
