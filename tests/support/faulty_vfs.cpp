#include "tests/support/faulty_vfs.h"

#include <sqlite3.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

namespace bitnet::faulty_vfs {
namespace {

struct Plan {
  Fault fault;
  uint64_t left;
  bool stays;
};
std::optional<Plan> plan;
bool has_happened = false;
std::optional<uint64_t> skipped;  // microseconds

bool fails(Fault fault) {
  if (!plan || plan->fault != fault) return false;
  if (plan->left > 1) {
    --plan->left;
    return false;
  }
  if (plan->left == 0 && !plan->stays) return false;
  plan->left = plan->stays ? 1 : 0;
  has_happened = true;
  return true;
}

// sqlite3_file is a C struct that SQLite allocates; the real file follows it in the same memory.
struct File {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
const sqlite3_io_methods& real(sqlite3_file* file) { return *of(file).real()->pMethods; }

int do_close(sqlite3_file* f) { return real(f).xClose(of(f).real()); }
int do_read(sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
  return fails(Fault::read) ? SQLITE_IOERR_READ : real(f).xRead(of(f).real(), to, n, at);
}
int do_write(sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
  if (fails(Fault::full)) return SQLITE_FULL;
  if (fails(Fault::write)) {
    real(f).xWrite(of(f).real(), from, n / 2, at);  // a write that was cut short
    return SQLITE_IOERR_WRITE;
  }
  return real(f).xWrite(of(f).real(), from, n, at);
}
int do_truncate(sqlite3_file* f, sqlite3_int64 size) {
  return fails(Fault::truncate) ? SQLITE_IOERR_TRUNCATE : real(f).xTruncate(of(f).real(), size);
}
int do_sync(sqlite3_file* f, int flags) {
  return fails(Fault::sync) ? SQLITE_IOERR_FSYNC : real(f).xSync(of(f).real(), flags);
}
int do_size(sqlite3_file* f, sqlite3_int64* size) { return real(f).xFileSize(of(f).real(), size); }
int do_lock(sqlite3_file* f, int level) {
  return fails(Fault::lock) ? SQLITE_IOERR_LOCK : real(f).xLock(of(f).real(), level);
}
int do_unlock(sqlite3_file* f, int level) { return real(f).xUnlock(of(f).real(), level); }
int do_check_lock(sqlite3_file* f, int* out) { return real(f).xCheckReservedLock(of(f).real(), out); }
int do_control(sqlite3_file* f, int op, void* arg) { return real(f).xFileControl(of(f).real(), op, arg); }
int do_sector(sqlite3_file* f) { return real(f).xSectorSize(of(f).real()); }
int do_device(sqlite3_file* f) { return real(f).xDeviceCharacteristics(of(f).real()); }
int do_shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** to) {
  return fails(Fault::shared_memory) ? SQLITE_IOERR_SHMMAP
                                     : real(f).xShmMap(of(f).real(), page, size, extend, to);
}
int do_shm_lock(sqlite3_file* f, int at, int n, int flags) {
  if ((flags & SQLITE_SHM_LOCK) != 0 && fails(Fault::shared_memory)) return SQLITE_IOERR_SHMLOCK;
  return real(f).xShmLock(of(f).real(), at, n, flags);
}
void do_shm_barrier(sqlite3_file* f) { real(f).xShmBarrier(of(f).real()); }
int do_shm_unmap(sqlite3_file* f, int remove) { return real(f).xShmUnmap(of(f).real(), remove); }

// Version 2: without memory mapping, so that every read is seen here.
constexpr sqlite3_io_methods kMethods = {
    2,           do_close,       do_read,       do_write,   do_truncate, do_sync,   do_size,
    do_lock,     do_unlock,      do_check_lock, do_control, do_sector,   do_device, do_shm_map,
    do_shm_lock, do_shm_barrier, do_shm_unmap,  nullptr,    nullptr};

sqlite3_vfs* below = nullptr;

int do_open(sqlite3_vfs*, const char* name, sqlite3_file* f, int flags, int* out) {
  f->pMethods = nullptr;
  if (fails(Fault::open)) return SQLITE_CANTOPEN;
  const int result = below->xOpen(below, name, of(f).real(), flags, out);
  if (result == SQLITE_OK) f->pMethods = &kMethods;
  return result;
}

int do_remove(sqlite3_vfs*, const char* name, int sync) {
  return fails(Fault::remove) ? SQLITE_IOERR_DELETE : below->xDelete(below, name, sync);
}

int do_sleep(sqlite3_vfs*, int microseconds) {
  if (!skipped) return below->xSleep(below, microseconds);
  *skipped += static_cast<uint64_t>(microseconds);
  return microseconds;
}

}  // namespace

std::string name_of(Fault fault) {
  constexpr const char* kNames[] = {"open",     "read",   "write",    "sync",        "lock",
                                    "truncate", "remove", "diskfull", "sharedmemory"};
  return kNames[static_cast<size_t>(fault)];
}

void install() {
  static sqlite3_vfs vfs;
  if (below != nullptr) return;
  below = sqlite3_vfs_find(nullptr);
  vfs = *below;  // what is not replaced gets this vfs and reads pAppData as the real one does
  vfs.zName = "faulty";
  vfs.szOsFile = static_cast<int>(sizeof(File)) + below->szOsFile;
  vfs.xOpen = do_open;
  vfs.xDelete = do_remove;
  vfs.xSleep = do_sleep;
  sqlite3_vfs_register(&vfs, 1);
}

void fail(Fault fault, uint64_t n, bool stays) {
  plan = Plan{fault, n, stays};
  has_happened = false;
}
void heal() {
  plan.reset();
  skipped.reset();
}
bool happened() { return has_happened; }
void skip_waits() { skipped = 0; }
uint64_t waited() { return skipped.value_or(0) / 1000; }

}  // namespace bitnet::faulty_vfs
