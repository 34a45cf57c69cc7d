#include "message.h"

namespace bitnet {

const char* name_of(Role role) {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
  }
  return "?";
}

Role role_of(std::string_view name) {
  return name == "assistant" ? Role::assistant : name == "system" ? Role::system : Role::user;
}

}  // namespace bitnet
