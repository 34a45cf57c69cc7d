#include "answering.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace bitnet {

Answering::Answering(AskedFor asked_for)
    : asked(std::move(asked_for)), wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_fd_ < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
}

Answering::~Answering() { close(wake_fd_); }

void Answering::wake() const { eventfd_write(wake_fd_, 1); }

Answering::News Answering::take() {
  eventfd_t count = 0;
  eventfd_read(wake_fd_, &count);
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

void Answering::add(MadeToken token) {
  {
    const std::lock_guard lock(mutex_);
    news_.tokens.push_back(std::move(token));
  }
  wake();
}

void Answering::finish(AnswerEnd end) {
  {
    const std::lock_guard lock(mutex_);
    news_.end = std::move(end);
  }
  wake();
}

}  // namespace bitnet
