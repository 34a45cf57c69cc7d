#include "exit_code.h"

namespace bitnet {

int exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::runtime:
      return 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::mismatch:
      return 3;
    case ErrorKind::model:
      return 4;
    case ErrorKind::device:
      return 5;
    case ErrorKind::database:
      return 6;
  }
  return 1;
}

int exit_code_of(std::string_view finish) {
  if (finish == "device_lost") return exit_code_of(ErrorKind::device);
  if (finish == "numeric" || finish == "failed") return exit_code_of(ErrorKind::runtime);
  return 0;
}

}  // namespace bitnet
