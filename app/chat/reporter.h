// What the chat has told its front end: the status, and the last error.
//
// The parts of a chat change status() as they go; the front end sees the changes with the next send_status().
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/chat/front_end.h"

namespace bitnet {

class Reporter {
 public:
  // `complete` writes into a status what the open conversation knows: its number, title and place.
  Reporter(FrontEnd& front_end, std::function<void(Status&)> complete)
      : front_end_(front_end), complete_(std::move(complete)) {}

  FrontEnd& front_end() const { return front_end_; }
  Status& status() { return status_; }
  void set_state(ChatState state, double progress) {
    status_.state = state;
    status_.progress = progress;
  }
  void send_status() {
    complete_(status_);
    front_end_.status(status_);
  }

  // Tells why a command or a turn failed. A script ends with it, so it is remembered until it is taken.
  void error(std::string_view text) {
    error_ = text;
    front_end_.error(text);
  }
  std::optional<std::string> take_error() { return std::exchange(error_, std::nullopt); }

 private:
  FrontEnd& front_end_;
  std::function<void(Status&)> complete_;
  Status status_;
  std::optional<std::string> error_;
};

}  // namespace bitnet
