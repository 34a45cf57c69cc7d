#include "model_switch.h"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "app/base/sizes.h"
#include "app/text/text_safe.h"
#include "refuse.h"

namespace bitnet {

ModelSwitch::ModelSwitch(ModelSource source, const SettingsInUse& settings, ModelState& model, Worker& worker,
                         Reporter& reporter)
    : source_(std::move(source)),
      settings_(settings),
      model_(model),
      worker_(worker),
      reporter_(reporter),
      wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_.fd < 0) throw std::runtime_error("eventfd failed: no file descriptors left");
}

std::string ModelSwitch::name_of(const std::string& path) const {
  return one_line(name_of_model(path, options().model_folders));
}

std::string ModelSwitch::running() const { return model_ ? model_->text->path : running_; }

bool ModelSwitch::is_running(const std::string& path) const {
  if (!model_ || !switching_to_.empty()) return false;
  std::error_code gone;
  return model_->text->path == path || std::filesystem::equivalent(model_->text->path, path, gone);
}

void ModelSwitch::want(const std::string& path) { wanted_ = path; }

bool ModelSwitch::forget_wanted() { return std::exchange(wanted_, std::nullopt).has_value(); }

void ModelSwitch::advance(bool busy) {
  if (!wanted_ || busy || model_.loading()) return;
  begin(*std::exchange(wanted_, std::nullopt));
}

// What the command line says of the file of the first model does not hold for another.
void ModelSwitch::begin(const std::string& path) {
  ModelOptions options = source_.options;
  std::error_code gone;
  if (path != first_path_ && !std::filesystem::equivalent(path, first_path_, gone)) {
    const ModelOptions usual;
    options.chat_template = usual.chat_template;
    options.i2s_layout = usual.i2s_layout;
    options.activation = usual.activation;
    options.steers.clear();
    options.ablated.clear();
    options.expert_trace.clear();
  }
  options.model = path;
  options.ctx = switching_with_ = settings_.now.ctx;
  switching_to_ = path;
  model_.set_loading();
  reporter_.status().model = name_of(path);
  reporter_.set_state(ChatState::loading, 0);
  worker_.switch_model([opener = source_.opener, options] { return opener(options); });
  reporter_.send_status();
}

bool ModelSwitch::loaded(const Loaded& event) {
  if (first_path_.empty()) first_path_ = event.text->path;
  running_ = event.text->path;
  if (std::exchange(switching_to_, "").empty()) return false;
  opened_with_ = switching_with_;
  return true;
}

std::string ModelSwitch::not_opened() {
  if (switching_to_.empty()) return {};
  std::string text = fmt::format("{} cannot be opened", name_of(switching_to_));
  if (!running_.empty()) text += fmt::format(", so {} goes on", name_of(running_));
  switching_to_.clear();
  return text;
}

void ModelSwitch::pull(const std::string& name) {
  if (pull_)
    refuse(fmt::format("{} is being fetched; /model stop ends that, and what came is kept",
                       printable(pull_->name(), 100)));
  pull_ = std::make_unique<BackgroundPull>(name, wake_.fd);
  reporter_.front_end().notice(
      fmt::format("Fetching {}. You can go on meanwhile; /model stop ends it.", printable(name, 100)));
  reporter_.send_status();
}

bool ModelSwitch::stop_pull() {
  if (!pull_) return false;
  pull_->stop();
  return true;
}

void ModelSwitch::take_pull() {
  eventfd_t count = 0;
  const bool has_news = eventfd_read(wake_.fd, &count) == 0;
  if (!pull_ || !has_news) return;
  if (const BackgroundPull::State state = pull_->state(); state.ended) end_pull(state);
  reporter_.send_status();
}

void ModelSwitch::end_pull(const BackgroundPull::State& state) {
  const std::string name = printable(pull_->name(), 100);
  pull_.reset();
  if (!state.path.empty()) {
    reporter_.front_end().notice(fmt::format("{} is here.", name));
    want(state.path);
  } else if (state.stopped) {
    reporter_.front_end().notice(
        state.kept
            ? fmt::format("{} is no longer fetched; what came is kept, and /model {} goes on.", name, name)
            : fmt::format("{} is no longer fetched, and nothing of it was kept.", name));
  } else {
    reporter_.error(fmt::format("{} was not fetched: {}", name, state.problem));
  }
}

void ModelSwitch::describe(Status& status) const {
  status.fetching.clear();
  if (!pull_) return;
  const BackgroundPull::State state = pull_->state();
  status.fetching = pull_->name();
  status.fetched = state.total == 0 ? 0 : static_cast<double>(state.done) / static_cast<double>(state.total);
  status.fetched_bytes = state.done;
  status.fetch_rate = state.bytes_a_second;
  status.fetch_is_checked = !state.doing.empty();
}

}  // namespace bitnet
