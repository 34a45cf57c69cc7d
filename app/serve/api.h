// Answers the requests of clients.
//
// Thread rule: any thread; each request on the thread of its connection.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "connection.h"
#include "requests.h"
#include "scheduler.h"
#include "turns.h"

namespace bitnet {

class Api {
 public:
  struct Done {
    std::string_view route;
    int status = 0;
    size_t prompt = 0, answer = 0;  // tokens
    double seconds = 0;
    bool left = false;  // the client went away
  };
  // `log` is called on the threads of connections.
  Api(Scheduler& scheduler, ServedModel model, std::function<void(const Done&)> log);

  // What HttpServer::Handler does.
  void answer(const Head& head, const httplib::Request& request, Connection& connection,
              httplib::Response& response);

 private:
  struct Running;
  void answer_at_once(const Head& head, const httplib::Request& request, Connection& connection,
                      httplib::Response& response);
  void generate(const Head& head, const httplib::Request& request, Connection& connection,
                httplib::Response& response);
  void reply_whole(Running& running, Connection& connection, httplib::Response& response);
  bool stream(Running& running, Connection& connection, httplib::DataSink& sink);
  bool take(Running& running, bool is_there);

  Scheduler& scheduler_;
  const ServedModel model_;
  const std::function<void(const Done&)> log_;
  Turns turns_;  // of reading bodies, and of all that becomes tokens or text outside of the scheduler
};

}  // namespace bitnet
