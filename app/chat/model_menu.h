// Names of models for completion, and the offer to go back to another one.
//
// Thread rule: free functions; the loop's thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat_parts.h"

namespace bitnet {

// What the word behind "/model " could become: what is here, and what can be pulled and run.
std::vector<MenuEntry> model_menu(const std::vector<std::string>& folders, std::string_view line);
std::vector<std::string> model_names(const std::vector<std::string>& folders);

// Says so where another model made the last answer of the open conversation.
void offer_model_of_conversation(ChatParts& chat);

}  // namespace bitnet
