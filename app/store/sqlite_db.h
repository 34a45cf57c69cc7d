// SQLite, with errors that throw and statements that finalize themselves. Every failure is an Error(database)
// that names the file.
//
// Thread rule: a Database and its statements belong to one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace bitnet {

class Database;

class Statement {
 public:
  Statement(Database& db, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // These bind the next parameter.
  Statement& operator<<(int64_t value);
  Statement& operator<<(double value);
  Statement& operator<<(std::string_view text);
  Statement& operator<<(std::nullptr_t);
  Statement& operator<<(const std::optional<int64_t>& value);
  Statement& blob(std::string_view bytes);

  bool step();  // true: a row is there; false: done
  void run() { step(); }

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const;  // also for blobs
  bool is_null(int column) const;
  std::optional<int64_t> optional_integer(int column) const;

 private:
  void check(int result);

  Database& db_;
  sqlite3_stmt* statement_ = nullptr;
  int next_parameter_ = 1;
};

class Database {
 public:
  // Makes the file with mode 0600 if there is none. `path` is a path, whatever it looks like: never a URI,
  // nor a name with a special meaning. A database with the path kInMemory keeps nothing.
  static constexpr const char* kInMemory = "";
  explicit Database(const std::string& path);
  // One that is there, as it is: nothing is written, neither to it nor beside it. What a program that was
  // killed, or that has it open, left in its -wal file would be missing, so then it is refused.
  struct ReadOnly {};
  Database(const std::string& path, ReadOnly);
  void wait_at_most(int milliseconds);  // while other programs hold the database; less at the program's end
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void defend();  // from here on no SQL, such as a trigger of the file, can damage the file itself

  void execute(const char* sql);
  int64_t last_id() const;
  int changes() const;
  int64_t pragma(const char* name);

  // BEGIN IMMEDIATE, work, COMMIT; ROLLBACK if `work` throws.
  void transaction(const std::function<void()>& work);

  const std::string& path() const { return path_; }
  bool in_memory() const { return path_.empty(); }
  sqlite3* handle() const { return db_; }
  [[noreturn]] void fail(const std::string& doing, int result) const;

 private:
  void open(const std::string& name, int flags);
  static int wait_for_others(void* database, int n);

  std::string path_;
  sqlite3* db_ = nullptr;
  int wait_milliseconds_ = 0;
};

// Whether the disk on which this file is, or would be, is full.
bool disk_is_full(const std::string& path);

}  // namespace bitnet
