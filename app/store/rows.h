// What a store keeps, as values that know nothing of a database. All times are milliseconds since 1970.
//
// Thread rule: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "message.h"

namespace bitnet {

struct StoredMessage {
  int64_t id = 0;
  std::optional<int64_t> parent;  // empty: the first of its conversation
  Role role = Role::user;
  std::string text;
  std::string finish;  // of an answer: "stop", "length", "context", "interrupted", "numeric", "device_lost"
  bool draft = false;  // an answer that is being written
  int64_t created = 0;
  uint32_t thought_tokens = 0;  // of an answer: the sum of its turns
};

struct StoredConversation {
  int64_t id = 0;
  std::string title;
  std::string system;
  std::optional<int64_t> leaf;
  int64_t created = 0;
  int64_t updated = 0;
  int64_t messages = 0;  // of the whole tree
  bool archived = false;
  bool once = false;               // a question of the command line (-p), which -c and the picker leave out
  std::optional<int64_t> deleted;  // since when it is in the trash
};

// A message as a node of its conversation's tree, without its text.
struct OutlineMessage {
  int64_t id = 0;
  std::optional<int64_t> parent;
  Role role = Role::user;
  bool kept = false;  // it is the end of a branch, although something may follow it
  int64_t created = 0;
};

// How an answer came about: what replay needs to do it again.
struct StoredTurn {
  int64_t id = 0;
  int64_t message = 0;  // the answer
  uint64_t seed = 0;
  std::string sampler;  // JSON, see app/chat/settings.h
  std::string system;   // system prompt of this turn
  std::string build;    // version of the program
  std::string device;
  std::string driver;
  std::string model;          // path of the file
  std::string model_hash;     // ModelInfo::fingerprint; old_fingerprint in turns of earlier versions
  std::string template_hash;  // XXH3-128, hex, of the template's source
  std::string prompt_hash;    // XXH3-128, hex, of the prompt's token ids as int32, little-endian
  uint32_t prompt_tokens = 0;
  uint32_t reused_tokens = 0;
  uint32_t answer_tokens = 0;
  uint32_t thought_tokens = 0;  // so many of them are what the model thought; 0: none, or not known
  double prefill_seconds = 0;
  double decode_seconds = 0;
  std::string finish;
  int64_t started = 0;
  bool imported = false;  // all this comes from an imported file, so `model` is a stranger's word
};

struct StoredToken {
  int32_t id;
  float logprob;
  float seconds;  // since decoding began
};

// A conversation with all that belongs to it. The id of its i-th message is i + 1; `parent` and `leaf` are
// such ids, and a parent stands before its children.
struct WholeTurn {
  StoredTurn stored;
  std::vector<StoredToken> tokens;
};
struct WholeMessage {
  StoredMessage stored;
  bool kept = false;
  std::vector<WholeTurn> turns;  // of an answer
};
struct WholeConversation {
  StoredConversation row;
  std::vector<WholeMessage> messages;
};

struct SearchHit {
  int64_t conversation;
  int64_t message;
  int64_t number;  // of the message in its conversation
  std::string title;
  bool archived;
  bool from_user;
  std::string snippet;  // the words found stand between \x02 and \x03
};

}  // namespace bitnet
