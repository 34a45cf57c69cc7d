// A file that is being fetched: FILE.part holds what has come, FILE.part.json says what it is a part of.
// Folders are made with mode 0700, files with 0600. Failures are Error(runtime) that names the file.
//
// Thread rule: belongs to one thread.
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
  // Opens what is there of `file`, or begins it. Throws if another process is fetching it. A file that
  // another process has finished in the meantime is left alone.
  explicit PartFile(const std::filesystem::path& file);
  ~PartFile();
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  uint64_t size() const { return size_; }
  const PartState& state() const { return state_; }
  // Whether a later call can go on with it: only a strong etag or a checksum tells that two parts belong to
  // one file.
  bool resumable() const { return size_ > 0 && (state_.etag.starts_with('"') || !state_.sha256.empty()); }

  void begin(const PartState& state);      // empties it
  void set_state(const PartState& state);  // keeps what is there
  void append(std::string_view bytes);     // throws if too little room would be left for others
  void need_room(uint64_t bytes) const;    // throws if the file system has less room left

  // The SHA-256 of all that is there; empty if `keep_going` returned false.
  std::string sha256(const std::function<bool(uint64_t done)>& keep_going) const;
  void finish();  // writes it to the disk and renames it to the file
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
