// A file system for SQLite that fails where a test wants it, laid over the real one.
//
// Thread rule: one thread. install() makes it the default for every database that is opened from then on.
#pragma once

#include <cstdint>
#include <string>

namespace bitnet::faulty_vfs {

// Which calls fail, and what SQLite is told. With `full`, writing and growing give SQLITE_FULL.
enum class Fault { open, read, write, sync, lock, truncate, remove, full, shared_memory };
constexpr Fault kFaults[] = {Fault::open,     Fault::read,   Fault::write, Fault::sync,         Fault::lock,
                             Fault::truncate, Fault::remove, Fault::full,  Fault::shared_memory};
std::string name_of(Fault fault);

void install();
// Makes the n-th such call from now on fail (n from 1) and, if `stays`, all after it too.
void fail(Fault fault, uint64_t n, bool stays);
void heal();      // nothing fails any more
bool happened();  // since fail()

// From now on, until heal(), waiting for locks of others takes no time; waited() says how many milliseconds
// it would have taken.
void skip_waits();
uint64_t waited();

}  // namespace bitnet::faulty_vfs
