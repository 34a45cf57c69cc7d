// 'bitnet-chat serve': one model for programs that speak the OpenAI API, over HTTP.
//
//   main's thread          signals, and the end
//   run's thread           accepts
//   one thread a client    Connection -> check_head -> httplib -> Api -> requests.h -> Scheduler::submit
//                          client <- SSE or JSON <- Reply <- AnswerText <- Answering
//   scheduler's thread     the engine: Answering <- tokens
//
// Thread rule: main's thread.
#pragma once

#include <cstdint>
#include <string>

#include "app/base/output.h"
#include "app/chat/settings.h"
#include "app/model/worker.h"

namespace bitnet {

struct ServeOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;     // 0: the kernel chooses one
  std::string key_file;     // empty: none on loopback, usual_key_file() elsewhere
  uint64_t kept_bytes = 0;  // of keys and values of earlier conversations, in memory
};

// Serves until a signal ends it; returns the exit code, which is 128 and the signal's number. `out` gets a
// line once clients can be served, and `err` one for each request: never a word of a conversation. Throws
// Error.
int serve(const ServeOptions& options, const OpenModel& open, const ChatSettings& settings, Output& out,
          Output& err);

}  // namespace bitnet
