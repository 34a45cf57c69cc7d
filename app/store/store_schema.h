// The database's shape and how an older one becomes it. Thread rule: that of Database.
#pragma once

#include <cstdint>
#include <string>

namespace bitnet {

class Database;

constexpr int kSchemaVersion = 4;
constexpr int kApplicationId = 0x42436874;  // "BCht"

// Makes or migrates the tables. Each migration is one transaction that also bumps user_version, after a copy
// of an older database was written beside it. Throws Error(database) for a newer or a foreign database.
void prepare_schema(Database& db);

// Where the copy is written; while it is not whole, ".unfinished" follows.
std::string backup_path(const std::string& database, int64_t version);

}  // namespace bitnet
