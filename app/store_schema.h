// The database's shape and how an older one becomes it. Thread rule: that of Database.
#pragma once

namespace bitnet {

class Database;

constexpr int kSchemaVersion = 3;
constexpr int kApplicationId = 0x42436874;  // "BCht"

// Makes or migrates the tables. Each migration is one transaction that also bumps user_version, after a copy
// of an older database was written beside it. Throws Error(database) for a newer or a foreign database.
void prepare_schema(Database& db);

}  // namespace bitnet
