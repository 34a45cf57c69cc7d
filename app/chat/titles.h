// Titles that the model makes: after the first answers of a conversation, while it has nothing else to do.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include "chat_parts.h"

namespace bitnet {

// Begins to make a title if this conversation could have a better one than its first line. Requires that
// nothing runs. Whatever needs the model stops it.
void wish_title(ChatParts& chat);

}  // namespace bitnet
