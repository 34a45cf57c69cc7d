// What a chat says when it ends.
//
// Thread rule: free functions; that of the store.
#pragma once

#include <cstdint>
#include <string>

#include "app/base/output.h"
#include "app/store/store.h"
#include "options.h"

namespace bitnet {

// A line for people: how to go on with this conversation, which was open last, and what of it is saved. Empty
// where it is not stored, or in the trash.
std::string way_back(const Options& options, int64_t conversation, Store& store);
// Writes it, as far as there is still somebody to read it.
void tell_way_back(const std::string& text, Output& err);

}  // namespace bitnet
