#include "queue.h"

#include <algorithm>
#include <utility>

#include "arguments.h"

namespace bitnet {

void Queue::add(std::string_view typed, bool with_files) {
  waiting_.push_back({std::string(typed), with_files ? read_files_.take() : std::vector<AttachedFile>()});
  tell();
}

bool Queue::goes_private() const {
  const auto last = std::find_if(waiting_.rbegin(), waiting_.rend(), [](const Waiting& waiting) {
    return split(waiting.typed).first == "/private";
  });
  return last != waiting_.rend() && split(last->typed).second != "off";
}

Queue::Waiting Queue::pop() {
  Waiting next = std::move(waiting_.front());
  waiting_.pop_front();
  tell();
  return next;
}

bool Queue::take_back_last() {
  if (waiting_.empty()) return false;
  Waiting last = std::move(waiting_.back());
  waiting_.pop_back();
  return_to_input(std::move(last));
  tell();
  return true;
}

void Queue::take_back_all() {
  if (waiting_.empty()) return;
  for (Waiting& waiting : std::exchange(waiting_, {})) return_to_input(std::move(waiting));
  tell();
}

void Queue::return_to_input(Waiting waiting) {
  read_files_.put_back(std::move(waiting.files));
  reporter_.front_end().return_input(waiting.typed);
}

void Queue::tell() {
  Status& status = reporter_.status();
  status.queued.clear();
  for (const Waiting& waiting : waiting_) status.queued.push_back(waiting.typed);
  reporter_.send_status();
}

}  // namespace bitnet
