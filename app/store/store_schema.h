// The tables of the database, and how an older database gets them.
//
// Thread rule: that of Database.
#pragma once

#include <cstdint>
#include <string>

namespace bitnet {

class Database;

constexpr int kSchemaVersion = 6;
constexpr int kApplicationId = 0x42436874;  // "BCht"

// Makes or migrates the tables, in one transaction that also raises user_version. Before a migration, a copy
// of the older database is written beside it. Throws Error(database) for a newer or a foreign database, and
// for one whose tables, indexes, views or triggers are not those that this program makes, beside tables of
// other names.
void prepare_schema(Database& db);

// The same for a database that nobody may write: throws for an older one, too.
void check_schema_to_read(Database& db);

// Where that copy is written. Until it is whole, its name ends with ".unfinished".
std::string backup_path(const std::string& database, int64_t version);

}  // namespace bitnet
