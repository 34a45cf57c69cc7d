// Reads of files that fail where a test wants it: the linker puts file_faults.cpp before pread of the C
// library (--wrap, see CMakeLists.txt). Mapped files are read without it.
//
// Thread rule: any thread.
#pragma once

namespace bitnet::file_faults {

struct Faults {
  int error_at = 0;          // the n-th read from now on (1 = the next) fails once with EIO; 0 = none
  bool always = false;       // all others behind it too
  bool short_reads = false;  // reads give a part of what was asked for, and some are interrupted
  int late_ms = 0;           // every read takes so much longer
  int held_from = 0;         // the n-th read and those behind it wait until set() is called again; 0 = none
};
void set(const Faults& faults);
int reads();  // since set

}  // namespace bitnet::file_faults
