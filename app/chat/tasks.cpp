#include "tasks.h"

#include <fmt/format.h>

#include <utility>

namespace bitnet {

Tasks::Tasks(Worker& worker, ModelState& model, Reporter& reporter)
    : worker_(worker), model_(model), reporter_(reporter), wake_(worker.wake_fd()) {}

void Tasks::start(Job job, Task task) {
  job_ = worker_.submit(std::move(job));
  task_ = std::move(task);
  if (task_->quiet) return;
  reporter_.set_state(ChatState::prefill, 0);
  reporter_.send_status();
}

void Tasks::take(const Token& token) {
  if (is(token.job) && task_->on_token) task_->on_token(token.token);
}

void Tasks::take(const Looked& looked) {
  if (is(looked.job) && task_->on_looked) task_->on_looked(looked);
}

void Tasks::finish(const Finished& finished) {
  if (!is(finished.job)) return;
  const Task task = std::move(*task_);
  task_.reset();
  reporter_.set_state(ChatState::idle, 1);
  if (finished.reason == "device_lost") {
    trouble_ |= !task.quiet;
    reporter_.error(fmt::format("{} ({}): {}. The device is being opened again.", model_->device.name,
                                model_->device.driver, finished.message));
    model_.set_loading();
    return reporter_.set_state(ChatState::loading, 0);
  }
  try {
    task.on_finish(finished);
  } catch (const Error& error) {
    trouble_ |= !task.quiet;
    reporter_.error(error.what());
  }
}

void Tasks::interrupt() {
  if (task_) worker_.interrupt();
}

void Tasks::replay(std::unique_ptr<ReplayPlayer> player) {
  player_ = std::move(player);
  if (model_) reporter_.status().state = ChatState::answering;
  reporter_.send_status();
  advance_replay();
}

void Tasks::advance_replay() {
  if (!player_) return;
  const auto due = player_->advance(ReplayPlayer::Clock::now());
  wake_.set(due);
  if (due) return;
  player_.reset();
  if (model_) reporter_.status().state = ChatState::idle;
  reporter_.send_status();
}

bool Tasks::stop_replay() {
  if (!player_) return false;
  player_.reset();
  wake_.set(std::nullopt);
  if (model_) reporter_.status().state = ChatState::idle;
  return true;
}

void Tasks::drop() {
  task_.reset();
  player_.reset();
}

}  // namespace bitnet
