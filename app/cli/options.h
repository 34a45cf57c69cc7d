// What the command line and the config file say, as one value.
//
// Thread rule: plain values and free functions; main's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/base/output_file.h"
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
  perplexity,
  bench,
  plan,
  serve,
  print,
  pull,
  models,
  remove_model,
  help,
};

// automatic: the screen if there is a terminal for it, otherwise lines.
enum class OutputForm { automatic, text, tui, jsonl };

struct Options : ModelOptions {
  Mode mode = Mode::chat;
  std::string print_and_exit;  // --help or --version: this text is printed and nothing else happens

  std::string config;  // --config; empty: the usual file

  // The chat.
  std::optional<std::string> question;  // -p
  bool keep = false;                    // -p: its conversation is one like any other
  std::string script;                   // "-" = standard input; empty = none
  OutputForm output = OutputForm::automatic;
  std::string record;         // --record; empty = none
  bool record_input = false;  // the recording also has what was typed
  bool resume_last = false;
  std::optional<int64_t> conversation;                        // --resume, and the ID of replay, show, export
  std::string system;                                         // text or @FILE
  std::string persona;                                        // empty: none
  bool asks_system = false, asks_persona = false;  // the command line does, and not only the config file
  std::vector<std::pair<std::string, std::string>> settings;  // as `/set NAME VALUE`, in order
  size_t config_settings = 0;  // so many of the first `settings` come from the config file
  uint32_t config_ctx = 0;     // `ctx` as the config file has it
  bool is_private = false;
  std::string db;
  bool titles = true;         // the model makes titles
  bool force = false;         // existing files may be overwritten
  bool allow_writes = false;  // scripts may write anywhere
  uint32_t kv_cache = 2048;   // MiB on disk; 0 = none
  bool no_color = false;
  std::string theme;  // theme.h; empty: the first
  bool mouse = false;
  std::string keys;  // file of the keymap; empty: the usual file, if there is one
  bool verbose = false;

  // Tools.
  double speed = 1;  // replay; 0 = at once
  bool verify = false;
  std::vector<int64_t> conversations;  // delete
  std::string words;                   // search, print, pull, rm
  bool all = false;                    // list: archived conversations too
  bool deleted = false;                // list: the trash
  bool now = false;                    // delete: for good instead of into the trash
  std::string format = "md";
  std::string file;  // import
  std::string out;
  bool special = false;
  bool csv = false;  // tokenize: commas between the ids
  std::vector<int32_t> tokens;
  uint32_t prefill = 0;  // tokens per batch; 0 = the engine chooses
  uint32_t top = 0;      // logits: so many of the likeliest tokens, as JSON
  bool hash_model = false;
  std::string stimuli;  // probe: a file; empty: a prompt or ids
  std::vector<std::string> templates = {"en_surface_probe"}, positions = {"last"};
  std::vector<Stage> what = {Stage::residual};
  std::pair<uint32_t, uint32_t> layers = {0, UINT32_MAX};  // the last one included
  uint32_t generate = 16;
  uint32_t limit = 0;
  bool reuse = true;
  uint32_t stride = 0;             // perplexity; 0: windows that do not overlap
  std::string host = "127.0.0.1";  // serve
  uint16_t port = 8080;
  std::string key_file;                // empty: the usual one, where a key is needed
  uint64_t cache = uint64_t{1} << 30;  // bytes
  uint32_t bench_prompt = 512;
  uint32_t bench_tokens = 128;
  uint32_t bench_depth = 0;
  uint32_t bench_repeat = 5;
  bool validate = false;  // bench compares stages too
  bool json = false;
  bool names = false;  // models: nothing but the names
  bool yes = false;    // rm: do not ask
};

// Reads the command line, over the config file: the one that --config names, or `usual_config` if there is
// such a file ("" = none). Throws Error(usage) in one line for what cannot be understood or is out of its
// range.
Options parse_options(int argc, const char* const* argv, const std::string& usual_config = "");

// A person who types "lst" means a command; the parser takes it for a model. If a model would be opened whose
// name is neither a file nor a pulled model, but is near the name of a command, this throws Error(model) that
// names the command.
void refuse_command_as_model(const Options& options);

// Whether --no-color or the environment (no-color.org) says so.
bool wants_no_color(const Options& options);

// Where files may be that the command line names: anywhere, because the person chose them.
WriteRules named_rules(const Options& options);

// Returns `base` changed by what the command line and the config file set. Throws Error(usage).
ChatSettings settings_from(const Options& options, ChatSettings base);

}  // namespace bitnet
