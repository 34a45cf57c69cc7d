#include "sqlite_db.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "app/base/event_loop.h"
#include "engine/error.h"

namespace bitnet {
namespace {

constexpr int kBusyMilliseconds = 5000;
constexpr int kBusyAtEnd = 500;     // milliseconds, once the program was told to end
constexpr int kBusyLookAgain = 10;  // milliseconds
constexpr uint64_t kFullBelow =
    256 << 10;  // bytes; the database's first page and its shared memory take less
constexpr rlim_t kLeastFile = 1 << 20;  // bytes
constexpr const char* kDiskFull = "the disk is full; make room, or use --private";

const char* way_out(int result) {
  switch (result & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds it; try again, or use --private or --db FILE";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "move the file away to begin anew, or use --db FILE or --private";
    case SQLITE_FULL:
      return kDiskFull;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
      return "check the folder and its permissions, or use --db FILE or --private";
    default:
      return "use --db FILE or --private to go on without it";
  }
}

// SQLite takes "file:..." for a URI and ":memory:" for no file at all, but never a path that begins with / or
// ./.
std::string as_path(const std::string& path) {
  if (path == Database::kInMemory) return ":memory:";
  return path.starts_with('/') ? path : "./" + path;
}

// Makes the file if there is none. A file that exists is not opened here, because closing it again would
// release the locks that SQLite holds on it in this process.
void make_file(const std::string& path) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorKind::database,
                fmt::format("database {}: {}; use --db FILE or --private", printable(path), why));
  };
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0 && errno == EEXIST) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) {
      if (!S_ISREG(status.st_mode)) refuse(S_ISDIR(status.st_mode) ? "is a folder" : "is no regular file");
      if (access(path.c_str(), R_OK | W_OK) != 0) refuse(std::strerror(errno));
      return;
    }
    if (errno == ENOENT) fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // a link to nowhere
  }
  if (fd < 0) refuse(std::strerror(errno));
  close(fd);
}

}  // namespace

bool disk_is_full(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  rlimit most{};  // a process that may not let a file grow finds every disk full
  if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur <= kLeastFile) return true;
  struct statvfs disk {};
  return statvfs(folder.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize < kFullBelow;
}

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
  // SQLite gives its -wal and -shm files the mode of the database.
  if (!in_memory()) make_file(path);
  open(as_path(path), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
}

// Without "immutable" SQLite wants to write the -shm file of a database with a WAL.
Database::Database(const std::string& path, ReadOnly) : path_(path) {
  struct stat wal {};
  if (stat((path + "-wal").c_str(), &wal) == 0 && wal.st_size != 0)
    throw Error(
        ErrorKind::database,
        fmt::format("database {}: its last changes are in {}, which cannot be read where nothing can be "
                    "written; copy both to another folder and use --db FILE",
                    printable(path), printable(path + "-wal")));
  std::string name = "file:";
  for (const char c : as_path(path))
    name += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", c) : std::string(1, c);
  open(name + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

void Database::open(const std::string& name, int flags) {
  const int result = sqlite3_open_v2(name.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  try {
    if (result != SQLITE_OK) fail("cannot be opened", result);
    wait_at_most(kBusyMilliseconds);
    sqlite3_busy_handler(db_, wait_for_others, this);
  } catch (...) {
    sqlite3_close_v2(db_);
    throw;
  }
}

void Database::wait_at_most(int milliseconds) { wait_milliseconds_ = milliseconds; }

// SQLite calls it for the n-th time for one lock, and gives up where it returns 0.
int Database::wait_for_others(void* database, int n) {
  const int most = static_cast<const Database*>(database)->wait_milliseconds_;
  if (n * kBusyLookAgain >= (is_to_end() ? std::min(most, kBusyAtEnd) : most)) return 0;
  sqlite3_sleep(kBusyLookAgain);
  return 1;
}

Database::~Database() { sqlite3_close_v2(db_); }

void Database::defend() {
  const int result = sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  if (result != SQLITE_OK) fail("cannot be used", result);
}

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
    // Another program may have written the file anew while this one waited: SQLite notices when it reads, but
    // not before it looks for the tables that a foreign key names, which it then does not find.
    execute("SELECT 1 FROM sqlite_schema LIMIT 1");
    work();
    execute("COMMIT");
  } catch (...) {
    if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Database::fail(const std::string& doing, int result) const {
  const char* reason = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(result);
  const int error = db_ != nullptr ? sqlite3_system_errno(db_) : 0;
  const int kind = result & 0xFF;
  const bool of_the_disk = kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN;
  const bool full =
      of_the_disk && (error == ENOSPC || error == EDQUOT || error == EFBIG || disk_is_full(path_));
  throw Error(ErrorKind::database,
              fmt::format("database {} {}: {}; {}", in_memory() ? "in memory" : printable(path_), doing,
                          printable(reason, 300), full ? kDiskFull : way_out(result)));
}

}  // namespace bitnet
