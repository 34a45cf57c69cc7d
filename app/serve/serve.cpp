#include "serve.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "api.h"
#include "app/base/clock.h"
#include "app/base/event_loop.h"
#include "app/text/text_safe.h"
#include "engine/error.h"
#include "http_server.h"
#include "key.h"
#include "scheduler.h"

namespace bitnet {
namespace {

// One line a request, from any thread.
class RequestLog {
 public:
  explicit RequestLog(Output& err) : err_(err) {}

  void note(std::string_view route, int status) { write(fmt::format("{} {}\n", route, status)); }
  void note(const Api::Done& done) {
    std::string line = fmt::format("{} {}", done.route, done.left ? "left" : std::to_string(done.status));
    if (done.prompt != 0) line += fmt::format(", {} + {} tokens", done.prompt, done.answer);
    write(fmt::format("{}, {:.2f} s\n", line, done.seconds));
  }
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    // Clients are served also where nobody reads the log.
    if (err_.takes_more()) err_.write(make_safe(fmt::format("{}  {}", local_time(now_milliseconds()), line)));
  }

 private:
  std::mutex mutex_;
  Output& err_;
};

std::string name_of_model(const ModelText& text) {
  const std::filesystem::path path(text.path);
  const std::string name = path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
  return name.empty() ? "model" : printable(name);
}

ServedModel served(const Scheduler::Model& model, ChatSettings settings) {
  adopt(usable_wishes(model.text->wishes), settings);
  const ChatSettings defaults = settings;
  wear(defaults.persona, settings, defaults, SettingSource::command_line);
  return {model.text, name_of_model(*model.text), model.n_ctx, std::move(settings),
          now_milliseconds() / 1000};
}

// An eventfd that another thread makes readable.
struct Wake {
  Wake() : descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Wake() { close(descriptor); }
  void operator()() const { eventfd_write(descriptor, 1); }
  void clear() const {
    eventfd_t count = 0;
    eventfd_read(descriptor, &count);
  }
  const int descriptor;
};

// The server, from its first thread to its last.
class Running {
 public:
  Running(const ServeOptions& options, const OpenModel& open, const ChatSettings& settings, Output& out,
          Output& err)
      : settings_(settings),
        out_(out),
        log_(err),
        http_(
            {},
            [this](const Head& head, const httplib::Request& request, Connection& connection,
                   httplib::Response& response) { api_->answer(head, request, connection, response); },
            [this](auto route, int status) { log_.note(route, status); }) {
    http_.bind(options.host, options.port);
    rules_.loopback = http_.is_loopback();
    std::string key_file = options.key_file;
    if (key_file.empty() && !rules_.loopback) key_file = usual_key_file();
    if (!key_file.empty()) {
      rules_.key = key_from_file(key_file);
      log_.write(fmt::format("clients have to show the key of {}\n", key_file));
    }
    SchedulerOptions of_answers;
    of_answers.kept_bytes = options.kept_bytes;
    of_answers.log = [this](const std::string& line) { log_.write(line + "\n"); };
    scheduler_ = std::make_unique<Scheduler>(open, of_answers, [this] { changed_(); });
    loop_.watch(changed_.descriptor, [this] { look(); });
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      loop_.on_signal(signal, [this, signal] { ended_by_ = signal; });
    }
  }
  // Answers end first, then connections, then the threads.
  ~Running() {
    scheduler_->close();
    http_.stop();
    if (accepts_.joinable()) accepts_.join();
  }

  int run() {
    while (ended_by_ == 0 && !failure_) loop_.run_once();
    if (failure_) throw Error(*failure_);
    log_.write("ends\n");
    return 128 + ended_by_;
  }

 private:
  // The model is loaded, or it has failed.
  void look() {
    changed_.clear();
    failure_ = scheduler_->failure();
    const auto model = scheduler_->model();
    if (failure_ || !model || api_) return;
    for (const std::string& notice : model->notices) log_.write(notice + "\n");
    const ServedModel known = served(*model, settings_);
    rules_.model = known.name;
    rules_.most_body = most_body_bytes(known.n_ctx);
    http_.set_rules(rules_);
    api_.emplace(*scheduler_, known, [this](const Api::Done& done) { log_.note(done); });
    accepts_ = std::thread([this] { http_.run(); });
    out_.write(fmt::format("listening on {}/v1 ({} on {}, {} tokens of context)\n", http_.url(), known.name,
                           make_safe(model->device), known.n_ctx));
  }

  const ChatSettings settings_;
  Output& out_;
  EventLoop loop_;
  Wake changed_;
  RequestLog log_;
  HeadRules rules_;
  HttpServer http_;
  std::unique_ptr<Scheduler> scheduler_;
  std::optional<Api> api_;
  std::thread accepts_;
  std::optional<Error> failure_;
  int ended_by_ = 0;
};

}  // namespace

int serve(const ServeOptions& options, const OpenModel& open, const ChatSettings& settings, Output& out,
          Output& err) {
  return Running(options, open, settings, out, err).run();
}

}  // namespace bitnet
