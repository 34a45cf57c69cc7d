// The bytes of one client, within bounds of size and time, as the HTTP library reads and writes them.
//
// Thread rule: belongs to the thread that serves the client; closing_fd may be readable to any number of
// them.
#pragma once

#include <httplib.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "head.h"

namespace bitnet {

struct ConnectionLimits {
  std::chrono::milliseconds idle{15'000};    // between requests
  std::chrono::milliseconds head{10'000};    // from its first byte to its last
  std::chrono::milliseconds body{60'000};    // likewise
  std::chrono::milliseconds write{30'000};   // in which a client has to take something
  std::chrono::milliseconds closing{2'000};  // for all that is sent once the server ends
};

class Connection final : public httplib::Stream {
 public:
  // `closing_fd` is readable once the server ends.
  Connection(int socket, int closing_fd, const ConnectionLimits& limits);

  // Waits for the head of a request and checks it. Nullopt where the connection has ended, where nothing came
  // in time, or where the server ends. Throws ApiError for a head that is refused; then nothing more may be
  // read. What httplib reads next is this request.
  std::optional<Head> next_head(const HeadRules& rules);

  // Waits until `fd` is readable. False where the client went away. One that only sends no more is there as
  // long as `probe` can send it something that it skips, which is tried now and then; without `probe` that is
  // an interim response, for which the response must not have begun, and which a client of HTTP/1.0 does not
  // know.
  bool wait_for(int fd, const std::function<bool()>& probe);
  bool wait_for(int fd);

  // Sends what refuses a request, and lets the client read it although it is still sending.
  void refuse(const ApiError& error);

  // Ends what is sent, and reads on for a while: a socket that is closed with unread bytes resets the
  // connection, and the client loses what it was told.
  void leave();

  bool broken() const { return broken_; }
  // Whether something of the last request was not read; no other one may be looked for behind it.
  bool has_unread() const { return left_ != 0; }

  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  // Waits until the socket is ready for `events` or `until` has come. False: it has, or the server ends and
  // `unless_closing` is set.
  bool wait(short events, Clock::time_point until, bool unless_closing) const;
  ssize_t receive(Clock::time_point until, bool unless_closing);
  bool wait_to_write();

  const int socket_;
  const int closing_fd_;
  const ConnectionLimits limits_;
  std::string received_;  // and not read yet
  size_t left_ = 0;       // bytes of this request that may still be read
  Clock::time_point body_until_;
  std::optional<Clock::time_point> closing_until_;  // once write() has seen that the server ends
  bool broken_ = false;
  bool takes_interim_ = false;
  bool half_closed_ = false;  // the client sends no more
  Clock::time_point probe_at_;
};

}  // namespace bitnet
