// What a probe has done so far, on disk, so that one that was stopped goes on where it was.
//
// Thread rule: it belongs to one thread.
//
// It has two files: PATH with values in the order of rows, and PATH.jsonl with a line of JSON for each row
// that is done, in any order. The first line says of what job; what another job left is not gone on with. A
// line {"writes":true} says that results may be there which this job has written or may overwrite.
// Errors: Error(runtime) where a file cannot be read or written, or is no regular file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace bitnet {

class Journal {
 public:
  using IsRecord = std::function<bool(const nlohmann::ordered_json&)>;

  // Goes on with the files of this job of n_rows rows of row_floats values, or begins anew. A line whose
  // record is none, as `is_record` says, ends what is gone on from. `writes` notes at once that results are
  // written. Requires: make_room was called.
  Journal(const std::string& path, const std::string& job, size_t n_rows, size_t row_floats,
          const IsRecord& is_record, bool writes);

  // Whether there is one of this job.
  static bool is_there(const std::string& path, const std::string& job);
  // Whether there is one of this job which says that results may be overwritten: they are the job's own, or
  // those that --force gave up.
  static bool writes(const std::string& path, const std::string& job);
  // What has these names and is no journal of this job gives way, if that may be overwritten or is the
  // beginning of one. Throws Error(runtime) otherwise.
  static void make_room(const std::string& path, const std::string& job, bool overwrite);

  const std::map<size_t, nlohmann::ordered_json>& done() const { return done_; }  // by row
  void add(size_t row, const std::vector<float>& values, const nlohmann::ordered_json& record);
  void note_writes();  // from here on the results are what this job has written, or may overwrite
  // Values [begin, begin + n) of a row that is done.
  std::vector<float> values(size_t row, size_t begin, size_t n) const;
  void remove();  // both files

 private:
  struct Owned {
    int fd = -1;
    ~Owned();
  };
  [[noreturn]] void fail() const;
  void put(int fd, std::string_view bytes, off_t at) const;
  void read_lines(const std::string& job, const IsRecord& is_record);

  const std::string path_;
  const size_t n_rows_, row_bytes_;
  Owned values_, lines_;
  off_t lines_end_ = 0;  // of those that are gone on from
  std::map<size_t, nlohmann::ordered_json> done_;
};

}  // namespace bitnet
