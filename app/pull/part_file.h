// A file that is being fetched: FILE.part with what has come, FILE.part.json with what it is a part of.
//
// Thread rule: belongs to one thread. Folders are made with mode 0700, files with 0600. Failures are
// Error(runtime) that names the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace bitnet {

struct PartState {
  std::string url;
  std::string etag;    // of the response that began it; empty = none
  uint64_t size = 0;   // of the whole; 0 = unknown
  std::string sha256;  // in hexadecimal; empty = unknown
};

class PartFile {
 public:
  // Opens what is there of `file`, or begins it. Throws where another process has it. What another one has
  // finished in the meantime is left alone.
  explicit PartFile(const std::filesystem::path& file);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  uint64_t size() const { return size_; }
  const PartState& state() const { return state_; }
  // Whether a later call can go on with it: only a strong etag or a checksum tells that two parts are of one
  // file.
  bool resumable() const { return size_ > 0 && (state_.etag.starts_with('"') || !state_.sha256.empty()); }

  void begin(const PartState& state);      // empties it
  void set_state(const PartState& state);  // keeps what is there
  void append(std::string_view bytes);     // throws where that would take what is left for others
  void need_room(uint64_t bytes) const;    // throws where the file system has less left

  // SHA-256 of all that is there. `keep_going` false: an empty string.
  std::string sha256(const std::function<bool(uint64_t done)>& keep_going) const;
  void finish();  // to disk, then renamed to the file
  void remove();

 private:
  [[noreturn]] void fail(const char* doing) const;
  bool open_locked();
  uint64_t room() const;
  void write_state() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::filesystem::path state_file_;
  PartState state_;
  uint64_t size_ = 0;
  uint64_t room_checked_ = 0;  // at this size
  int fd_ = -1;
};

std::string sha256_of_file(const std::filesystem::path& file,
                           const std::function<bool(uint64_t done)>& keep_going);

}  // namespace bitnet
