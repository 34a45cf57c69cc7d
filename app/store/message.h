// Who said a message.
//
// Thread rule: plain values and free functions; any thread.
#pragma once

#include <string_view>

namespace bitnet {

enum class Role { system, user, assistant };
const char* name_of(Role role);
Role role_of(std::string_view name);  // user if the name is not known

}  // namespace bitnet
