// Stored conversations as lines for people, the same in the chat and on the command line.
//
// Thread rule: free functions; that of the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/store/store.h"

namespace bitnet {

// The beginning of a text with at most so many characters, by code points.
std::string_view first_characters(std::string_view text, size_t most);

// Throws Error(runtime) where there is no conversation of this number; `hint` is what the message says to do,
// which without it is a command for a shell.
StoredConversation find_conversation(Store& store, int64_t id, std::string_view hint = {});
// The same for one that is sound and not in the trash; else Error(runtime or database) says what to do.
StoredConversation conversation_to_open(Store& store, int64_t id);

// Where /undo or /edit stepped back to before the first turn, so that a conversation shows none of its
// messages: says so of `which` ("Conversation 7"), and what brings them back. Else empty.
std::string before_first_turn(std::string_view which, const StoredConversation& row);

// A * stands before `current`. Without `asked_once` what -p asked is left out.
std::string list_text(Store& store, int64_t current, bool archived, bool asked_once = true);
// Which /list shows what an empty list leaves out; empty where nothing is stored.
std::string other_lists(Store& store);
std::string trash_text(Store& store);
// The words that were found stand between kMarkOn and kMarkOff (front_end.h).
std::string search_text(Store& store, std::string_view words);

// Takes the conversation out of the database, past the trash: first its rows, then every word. Returns the
// end of the sentence that tells a person.
std::string purge_text(Store& store, int64_t id);

}  // namespace bitnet
