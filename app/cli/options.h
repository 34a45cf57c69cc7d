// The command line.
//
// Thread rule: plain values and one free function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/chat/settings.h"
#include "app/model/model_open.h"

namespace bitnet {

enum class Mode {
  chat,
  replay,
  list,
  show,
  search,
  export_chat,
  import_chat,
  delete_chat,
  undelete_chat,
  info,
  devices,
  tokenize,
  detokenize,
  render,
  logits,
  probe,
  bench,
  print,
  pull,
  help,
};

// Lines or the screen; automatic: the screen where there is a terminal for it.
enum class OutputForm { automatic, text, tui, jsonl };

struct Options : ModelOptions {
  Mode mode = Mode::chat;
  std::string print_and_exit;  // --help or --version: this text and nothing else

  std::string config;  // --config; empty: the usual file

  // The chat.
  std::optional<std::string> question;  // -p
  std::string script;                   // "-" = standard input; empty = none
  OutputForm output = OutputForm::automatic;
  std::string record;         // --record; empty = none
  bool record_input = false;  // what was typed too
  bool resume_last = false;
  std::optional<int64_t> conversation;  // --resume, and the ID of replay, show, export, delete
  std::string system;                   // text or @FILE
  std::vector<std::pair<std::string, std::string>> settings;  // as `/set NAME VALUE`, in order
  size_t config_settings = 0;  // the first of `settings`, which are the config file's
  uint32_t config_ctx = 0;     // `ctx` as the config file has it
  bool is_private = false;
  std::string db;
  bool force = false;         // files that are there may be overwritten
  bool allow_writes = false;  // scripts may write anywhere
  uint32_t kv_cache = 2048;   // MiB on disk; 0 = none
  bool no_color = false;
  std::string theme;  // theme.h; empty: the first
  std::string keys;   // file of the keymap; empty: the usual one, if it is there
  bool verbose = false;

  // Tools.
  double speed = 1;  // replay; 0 = at once
  bool verify = false;
  std::string words;     // search, print, pull
  bool all = false;      // list: archived conversations too
  bool deleted = false;  // list: the trash
  bool now = false;      // delete: past the trash
  std::string format = "md";
  std::string file;  // import
  std::string out;
  bool special = false;
  bool csv = false;  // tokenize: commas between
  std::vector<int32_t> tokens;
  uint32_t prefill = 0;  // tokens a batch; 0 = the engine's choice
  uint32_t bench_prompt = 512;
  uint32_t bench_tokens = 128;
  uint32_t bench_depth = 0;
  uint32_t bench_repeat = 5;
  bool json = false;
};

// The command line over the config file: the one that --config names, else `usual_config` if it is there (""
// = none). Throws Error(usage) in one line for what cannot be understood or is out of its range.
Options parse_options(int argc, const char* const* argv, const std::string& usual_config = "");

// "lst" is the name of a model file to the parser, and a command to a person. Throws Error(model) with the
// command that is meant, where a model is opened whose name is neither a file nor that of a pulled model and
// is near one.
void refuse_command_as_model(const Options& options);

// `base` with what the command line set. Throws Error(usage).
ChatSettings settings_from(const Options& options, ChatSettings base);

}  // namespace bitnet
