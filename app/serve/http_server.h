// The HTTP side of the server: connections within bounds, and a thread for each.
//
// Thread rule: the constructor, bind, run and stop belong to who makes it; run returns once stop was called,
// on any thread, and every connection has ended. The handler is called on the threads of connections.
#pragma once

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "connection.h"
#include "head.h"

namespace bitnet {

struct HttpLimits : ConnectionLimits {
  size_t most_connections = 256;
};

class HttpServer final : private httplib::Server {
 public:
  // Answers the request whose head was accepted. It may give the response a provider of chunks, which is
  // called while the connection lasts.
  using Handler = std::function<void(const Head&, const httplib::Request&, Connection&, httplib::Response&)>;
  using Log = std::function<void(std::string_view route, int status)>;  // of requests that no handler saw

  HttpServer(const HttpLimits& limits, Handler handler, Log log);
  ~HttpServer() override;

  // Throws Error(runtime) where nothing can listen there. Port 0 is one that the kernel chooses.
  void bind(const std::string& host, uint16_t port);
  bool is_loopback() const { return loopback_; }  // what it listens on is this machine's own
  std::string url() const { return url_; }        // "http://127.0.0.1:8080"

  void set_rules(HeadRules rules) { rules_ = std::move(rules); }  // before run()
  void run();
  void stop();

 private:
  void begin(int client);
  void end_connection();
  void turn_away(int client);
  bool process_and_close_socket(socket_t socket) override;
  void serve(Connection& connection);

  const HttpLimits limits_;
  const Handler handler_;
  const Log log_;
  HeadRules rules_;
  bool loopback_ = true;
  std::string url_;
  int closing_fd_;
  std::atomic<bool> stopped_ = false;

  std::mutex mutex_;
  std::condition_variable ended_;
  size_t connections_ = 0;  // guarded by mutex_
};

}  // namespace bitnet
