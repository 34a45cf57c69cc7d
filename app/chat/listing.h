// Stored conversations as lines for people, the same in the chat and on the command line.
//
// Thread rule: free functions; that of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/store/store.h"

namespace bitnet {

// Throws Error(runtime) where there is none of this number; `hint` is what the message says to do then.
StoredConversation find_conversation(Store& store, int64_t id,
                                     std::string_view hint = "'bitnet-chat list' shows them");
// The same, but not in the trash and sound; else Error(runtime or database) says what to do.
StoredConversation conversation_to_open(Store& store, int64_t id);

std::string list_text(Store& store, int64_t current, bool archived);  // a * before `current`
std::string trash_text(Store& store);
// What was found stands between kMarkOn and kMarkOff (front_end.h).
std::string search_text(Store& store, std::string_view words);

// Takes the conversation out of the database, past the trash: first its rows, then every word. Returns what a
// person is told of it.
std::string purge_text(Store& store, int64_t id);

}  // namespace bitnet
