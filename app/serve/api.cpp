#include "api.h"

#include <utility>

#include "app/base/clock.h"
#include "engine/error.h"
#include "replies.h"

namespace bitnet {
namespace {

constexpr const char* kJson = "application/json";
constexpr unsigned kBodiesAtOnce = 2;  // bodies, each of which may take a hundred times its size of memory
constexpr size_t kMostWaitToBeRead = 128;

// What is told of an answer that neither the model nor its client has ended.
ApiError failure_of(const AnswerEnd& end) {
  if (end.reason == "closed") return {503, "the server ends", "", "server_closing"};
  if (end.reason == "timeout") return {503, "the answer took too long", "", "timeout"};
  if (end.reason == name_of(Finish::numeric))
    return {500, "the model's output is not a number (NaN or Inf)", "", "numeric"};
  return {500, end.message.empty() ? "the model cannot be used" : end.message, "", end.reason};
}

void set_error(httplib::Response& response, const ApiError& error) {
  response.status = error.status;
  if (error.status == 503) response.set_header("Retry-After", "1");
  response.set_content(to_json(error), kJson);
}

}  // namespace

// An answer on its way to a client. Where it is not ended by the model, its end stops the model.
struct Api::Running {
  Running(Api& from, const Head& head, AnswerRequest asked)
      : api(from),
        request(std::move(asked)),
        answering(std::make_shared<Answering>(request.asked)),
        text(from.model_, request),
        reply(from.model_, request) {
    done.route = log_name(head.route);
    done.prompt = request.asked.prompt.size();
  }
  ~Running() {
    if (!end) api.scheduler_.stop(*answering);
    done.answer = text.tokens();
    done.seconds = seconds_since(begin);
    api.log_(done);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  TokenCounts usage() const { return {request.asked.prompt.size(), text.tokens(), answering->reused()}; }

  Api& api;
  const AnswerRequest request;
  const std::shared_ptr<Answering> answering;
  AnswerText text;
  Reply reply;
  std::vector<AnswerText::Piece> pieces;  // taken and not sent
  std::optional<AnswerEnd> end;
  Done done;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  bool begun = false;  // the first event was sent
};

Api::Api(Scheduler& scheduler, ServedModel model, std::function<void(const Done&)> log)
    : scheduler_(scheduler),
      model_(std::move(model)),
      log_(std::move(log)),
      turns_(kBodiesAtOnce, kMostWaitToBeRead) {}

void Api::answer(const Head& head, const httplib::Request& request, Connection& connection,
                 httplib::Response& response) {
  try {
    if (head.route == Route::chat_completions || head.route == Route::completions) {
      generate(head, request, connection, response);
    } else {
      answer_at_once(head, request, connection, response);
    }
  } catch (const ApiError& error) {
    set_error(response, error);
    log_({log_name(head.route), error.status});
  }
}

void Api::answer_at_once(const Head& head, const httplib::Request& request, Connection& connection,
                         httplib::Response& response) {
  const auto begin = std::chrono::steady_clock::now();
  if (head.route == Route::models) {
    response.body = models_json(model_);
  } else if (head.route == Route::model) {
    response.body = model_json(model_);
  } else {
    const Turns::Turn turn(turns_, connection);
    response.body = head.route == Route::tokenize ? tokenize_request(request.body, model_)
                                                  : detokenize_request(request.body, model_);
  }
  response.status = 200;
  response.set_header("Content-Type", kJson);
  log_({log_name(head.route), 200, 0, 0, seconds_since(begin)});
}

void Api::generate(const Head& head, const httplib::Request& request, Connection& connection,
                   httplib::Response& response) {
  const AnswerKind kind = head.route == Route::completions ? AnswerKind::completion : AnswerKind::chat;
  const auto running = std::make_shared<Running>(*this, head, [&] {
    const Turns::Turn turn(turns_, connection);
    return read_answer_request(kind, request.body, model_);
  }());
  if (!scheduler_.submit(running->answering)) {
    running->end = AnswerEnd{"refused"};
    running->done.status = 503;
    return set_error(response, {503, "too many requests wait for the model; try again", "", "overloaded"});
  }
  if (!running->request.stream) return reply_whole(*running, connection, response);
  response.status = running->done.status = 200;
  response.set_header("Cache-Control", "no-store");
  const auto provider = [this, running, &connection](size_t, httplib::DataSink& sink) {
    return stream(*running, connection, sink);
  };
  if (head.http_1_0) {  // the end of the connection ends the stream
    response.set_content_provider("text/event-stream", provider);
  } else {
    response.set_chunked_content_provider("text/event-stream", provider);
  }
}

// Turns what has come into pieces, unless the client went away while it was waited for: then it returns
// false.
bool Api::take(Running& running, bool is_there) {
  if (!is_there) {
    running.done.left = true;
    return false;
  }
  Answering::News news = running.answering->take();
  for (MadeToken& token : news.tokens) {
    if (!running.text.stopped()) running.pieces.push_back(running.text.add(std::move(token)));
  }
  if (news.end) {
    running.end = std::move(news.end);
  } else if (running.text.stopped()) {
    scheduler_.stop(*running.answering);
    running.end = AnswerEnd{name_of(Finish::stop)};
  }
  if (!running.end) return true;
  if (running.text.stopped()) running.end->reason = name_of(Finish::stop);
  running.pieces.push_back(running.text.finish());
  return true;
}

void Api::reply_whole(Running& running, Connection& connection, httplib::Response& response) {
  while (!running.end) {
    if (!take(running, connection.wait_for(running.answering->wake_fd())))
      return set_error(response, {503, "the client went away"});
    for (AnswerText::Piece& piece : running.pieces) running.reply.add(std::move(piece));
    running.pieces.clear();
  }
  if (finish_reason(running.end->reason).empty()) {
    const ApiError error = failure_of(*running.end);
    running.done.status = error.status;
    return set_error(response, error);
  }
  response.status = running.done.status = 200;
  response.set_content(running.reply.whole(running.end->reason, running.usage()), kJson);
}

// Sends what there is; false where the stream cannot go on.
bool Api::stream(Running& running, Connection& connection, httplib::DataSink& sink) {
  std::string events;
  if (!std::exchange(running.begun, true)) {
    events = running.reply.first_event();
  } else {
    const auto comment = [&] { return sink.write(":\n\n", 3); };  // which clients skip
    if (!take(running, connection.wait_for(running.answering->wake_fd(), comment))) return false;
    for (const AnswerText::Piece& piece : running.pieces) events += running.reply.event(piece);
    running.pieces.clear();
  }
  if (running.end) {
    events += finish_reason(running.end->reason).empty()
                  ? Reply::error_event(to_json(failure_of(*running.end)))
                  : running.reply.last_events(running.end->reason, running.usage());
  }
  if (!events.empty() && !sink.write(events.data(), events.size())) {
    running.done.left = true;
    return false;
  }
  if (running.end) sink.done();
  return true;
}

}  // namespace bitnet
