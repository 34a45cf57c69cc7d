#include "sqlite_db.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/error.h"

namespace bitnet {
namespace {

constexpr int kBusyMilliseconds = 5000;

const char* way_out(int result) {
  switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds it; try again, or use --private or --db FILE";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "move the file away to begin anew, or use --db FILE or --private";
    case SQLITE_FULL:
      return "the disk is full; make room, or use --private";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return "check the folder and its permissions, or use --db FILE or --private";
    default:
      return "use --db FILE or --private to go on without it";
  }
}

}  // namespace

Statement::Statement(Database& db, std::string_view sql) : db_(db) {
  check(sqlite3_prepare_v2(db.handle(), sql.data(), static_cast<int>(sql.size()), &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check(int result) {
  if (result != SQLITE_OK) db_.fail("cannot be used", result);
}

Statement& Statement::operator<<(int64_t value) {
  check(sqlite3_bind_int64(statement_, next_parameter_++, value));
  return *this;
}

Statement& Statement::operator<<(double value) {
  check(sqlite3_bind_double(statement_, next_parameter_++, value));
  return *this;
}

Statement& Statement::operator<<(std::string_view text) {
  // An empty view may hold a null pointer, which would bind NULL.
  const char* data = text.empty() ? "" : text.data();
  check(sqlite3_bind_text64(statement_, next_parameter_++, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::operator<<(std::nullptr_t) {
  check(sqlite3_bind_null(statement_, next_parameter_++));
  return *this;
}

Statement& Statement::operator<<(const std::optional<int64_t>& value) {
  return value ? *this << *value : *this << nullptr;
}

Statement& Statement::blob(std::string_view bytes) {
  const char* data = bytes.empty() ? "" : bytes.data();
  check(sqlite3_bind_blob64(statement_, next_parameter_++, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::step() {
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  db_.fail("cannot be used", result);
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::real(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

std::string Statement::text(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return data == nullptr ? std::string()
                         : std::string(static_cast<const char*>(data), static_cast<size_t>(size));
}

std::optional<int64_t> Statement::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

Database::Database(const std::string& path) : path_(path) {
  if (path != ":memory:") {
    // SQLite gives its -wal and -shm files the mode of the database.
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    struct stat about = {};
    const char* problem = fd < 0 || fstat(fd, &about) != 0 ? std::strerror(errno)
                          : S_ISREG(about.st_mode)         ? nullptr
                                                           : "is no regular file";
    if (fd >= 0) close(fd);
    if (problem != nullptr) {
      throw Error(ErrorKind::database,
                  fmt::format("database {}: {}; use --db FILE or --private", printable(path), problem));
    }
  }
  const int result = sqlite3_open_v2(
      path.c_str(), &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    if (result != SQLITE_OK) fail("cannot be opened", result);
    sqlite3_busy_timeout(db_, kBusyMilliseconds);
  } catch (...) {
    sqlite3_close_v2(db_);
    throw;
  }
}

Database::~Database() { sqlite3_close_v2(db_); }

void Database::execute(const char* sql) {
  const int result = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) fail("cannot be used", result);
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(db_); }
int Database::changes() const { return sqlite3_changes(db_); }

int64_t Database::pragma(const char* name) {
  Statement statement(*this, fmt::format("PRAGMA {}", name));
  return statement.step() ? statement.integer(0) : 0;
}

void Database::transaction(const std::function<void()>& work) {
  execute("BEGIN IMMEDIATE");
  try {
    work();
    execute("COMMIT");
  } catch (...) {
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Database::fail(const std::string& doing, int result) const {
  const char* reason = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(result);
  throw Error(ErrorKind::database, fmt::format("database {} {}: {}; {}", printable(path_), doing,
                                               printable(reason, 300), way_out(result)));
}

}  // namespace bitnet
