#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "engine/error.h"
#include "model_file.h"
#include "theme.h"

namespace bitnet {
namespace {

constexpr const char* kDescription =
    "A chat in the terminal with BitNet b1.58 models, on a Vulkan engine of its own.\n"
    "Without MODEL the bundled model answers. Text on standard input, or -p, asks one question.";
constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 runtime, 2 usage, 3 expectation or replay mismatch, 4 model, 5 device, 6 database,\n"
    "130 interrupted, 143 terminated.";

std::vector<int32_t> parse_ids(const std::string& list) {
  std::vector<int32_t> ids;
  const char* at = list.data();
  const char* end = at + list.size();
  while (true) {
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next != end && *next != ',')) {
      throw Error(ErrorKind::usage,
                  fmt::format("--tokens: wanted ids with commas between, such as 1,2,3, found '{}'",
                              printable(list, 40)));
    }
    ids.push_back(id);
    if (next == end) return ids;
    at = next + 1;
  }
}

// An option that is a row of the settings table, so that the command line and /set say the same.
void add_setting(CLI::App& app, Options& options, const std::string& flags, const char* name) {
  const Setting* setting = find_setting(name);
  app.add_option_function<std::string>(
         flags,
         [&options, name](const std::string& value) {
           ChatSettings scratch;
           find_setting(name)->read(scratch, value);
           options.settings.emplace_back(name, value);
         },
         fmt::format("{} ({})", setting->help, setting->range))
      ->type_name("VALUE");
}

void add_chat_options(CLI::App& app, Options& o) {
  app.add_option("MODEL", o.model, "GGUF file; the bundled model where none is given");
  app.add_option("-p,--prompt", o.question, "ask this, print the answer, end")->type_name("TEXT");
  app.add_option("--script", o.script, "run a scripted session; - is standard input")->type_name("FILE");
  app.add_option_function<std::string>(
         "--output", [&o](const std::string& value) { o.jsonl = value == "jsonl"; },
         "text or jsonl, one object a line")
      ->check(CLI::IsMember({"text", "jsonl"}));
  app.add_flag("-c,--continue", o.resume_last, "go on with the last conversation");
  app.add_option("--resume", o.conversation, "go on with that conversation")->type_name("ID");
  app.add_option("--device", o.device, "number or part of a name as 'devices' lists them, or cpu")
      ->type_name("N|NAME|cpu");
  app.add_option("--threads", o.threads,
                 "threads of --device cpu; as many as there are cores to use where not given")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--i2s-layout", o.i2s_block,
                 "weights in a block of the file: 128, or 64 where an ARM build quantised it")
      ->check(CLI::IsMember({128, 64}))
      ->type_name("128|64");
  app.add_option("--ctx", o.ctx, "tokens of context; as trained where not given")
      ->check(CLI::Range(uint32_t{1}, uint32_t{1} << 24))
      ->type_name("N");
  add_setting(app, o, "--seed", "seed");
  add_setting(app, o, "--temp", "temp");
  add_setting(app, o, "--top-k", "top_k");
  add_setting(app, o, "--top-p", "top_p");
  add_setting(app, o, "--min-p", "min_p");
  add_setting(app, o, "--repeat-penalty", "repeat_penalty");
  add_setting(app, o, "--repeat-last", "repeat_last");
  add_setting(app, o, "-n,--max-tokens", "max_tokens");
  app.add_option_function<std::vector<std::string>>(
         "--stop",
         [&o](const std::vector<std::string>& texts) {
           std::string list;
           for (const std::string& text : texts) {
             if (text.empty()) throw Error(ErrorKind::usage, "--stop: wanted a text that is not empty");
             o.settings.emplace_back("+stop", text);
           }
         },
         "end an answer where this text appears; may be given again")
      ->expected(1)
      ->take_all()
      ->type_name("TEXT");
  app.add_option("--system", o.system, "system prompt, or @FILE to read it from")->type_name("TEXT|@FILE");
  app.add_option("--chat-template", o.chat_template, "Jinja file to use instead of the model's own")
      ->type_name("FILE");
  app.add_flag("--private", o.is_private, "keep nothing");
  app.add_option("--db", o.db, "database to keep conversations in")->type_name("FILE");
  app.add_flag("--no-color", o.no_color, "no colours (NO_COLOR does the same)");
  app.add_option_function<std::string>(
         "--theme", [&o](const std::string& name) { o.theme = find_theme(name).name; },
         "looks: 16 (the terminal's colours), light, dark or mono")
      ->type_name("NAME");
  app.add_flag("--verbose", o.verbose, "say what lies behind each answer");
}

CLI::App* subcommand(CLI::App& app, Options& options, Mode mode, const char* name, const char* help) {
  CLI::App* sub = app.add_subcommand(name, help);
  sub->fallthrough();
  sub->callback([&options, mode] { options.mode = mode; });
  return sub;
}

void add_model(CLI::App* sub, Options& o, bool required = true) {
  sub->add_option("MODEL", o.model,
                  required ? "GGUF file" : "GGUF file; the bundled model where none is given")
      ->required(required);
}

void add_id(CLI::App* sub, Options& o) {
  sub->add_option("ID", o.conversation, "conversation as 'list' shows it")->required();
}

void add_tools(CLI::App& app, Options& o, std::string& token_list) {
  CLI::App* replay =
      subcommand(app, o, Mode::replay, "replay", "draw a stored conversation again, token by token");
  add_id(replay, o);
  replay->add_option("--speed", o.speed, "times as fast as it was")->check(CLI::Range(0.01, 1000.0));
  replay->add_flag_callback(
      "--instant", [&o] { o.speed = 0; }, "all at once");
  replay->add_flag("--verify", o.verify, "run the model again and compare the tokens");
  replay->add_option("--model", o.model, "file to verify with; the stored one where not given");

  subcommand(app, o, Mode::list, "list", "the stored conversations, the latest first")
      ->add_flag("--all", o.all, "archived ones too");
  add_id(subcommand(app, o, Mode::show, "show", "print a stored conversation"), o);
  CLI::App* search = subcommand(app, o, Mode::search, "search", "find words in everything that was said");
  search->add_option("TEXT", o.words, "words to look for")->required();
  CLI::App* export_chat =
      subcommand(app, o, Mode::export_chat, "export", "write a stored conversation to a file");
  add_id(export_chat, o);
  export_chat->add_option("--format", o.format, "md, json or openai")
      ->check(CLI::IsMember({"md", "json", "openai"}));
  export_chat->add_option("-o,--out", o.out, "file; standard output where not given");
  add_id(subcommand(app, o, Mode::delete_chat, "delete", "delete a stored conversation for good"), o);

  add_model(subcommand(app, o, Mode::info, "info", "what a model file holds"), o, false);
  add_model(subcommand(app, o, Mode::devices, "devices", "what could run a model, and how it would fit"), o,
            false);
  CLI::App* tokenize = subcommand(app, o, Mode::tokenize, "tokenize", "text on standard input to token ids");
  add_model(tokenize, o);
  tokenize->add_flag("--special", o.special, "take the text of special tokens for these tokens");
  add_model(subcommand(app, o, Mode::detokenize, "detokenize", "token ids on standard input to bytes"), o);
  add_model(subcommand(app, o, Mode::render, "render",
                       "JSON list of {role, content} on standard input to a prompt"),
            o);
  CLI::App* logits =
      subcommand(app, o, Mode::logits, "logits", "logits after every token, float32 [n_tokens, n_vocab]");
  CLI::App* probe = subcommand(app, o, Mode::probe, "probe",
                               "residual stream after every block, float32 [n_layers, n_embd]");
  for (CLI::App* sub : {logits, probe}) {
    add_model(sub, o);
    sub->add_option("--tokens", token_list, "ids with commas between")->required();
    sub->add_option("--out", o.out, ".npy file")->required();
  }
  logits->add_option("--prefill", o.prefill, "tokens a batch; 1 = one by one")->check(CLI::Range(1, 1 << 20));
  CLI::App* bench = subcommand(app, o, Mode::bench, "bench", "measure prefill and decode");
  add_model(bench, o, false);
  bench->add_option("-p", o.bench_prompt, "tokens of prefill")->check(CLI::Range(1, 1 << 20));
  bench->add_option("-n", o.bench_tokens, "tokens of decode")->check(CLI::Range(1, 1 << 20));
  bench->add_option("-d", o.bench_depth, "tokens in the context before")->check(CLI::Range(0, 1 << 20));
  bench->add_option("-r", o.bench_repeat, "runs")->check(CLI::Range(1, 1000));
  bench->add_flag("--json", o.json, "one JSON object");
}

void check_together(const Options& o) {
  for (const Mode mode : {Mode::list, Mode::show, Mode::search, Mode::export_chat, Mode::delete_chat}) {
    if (o.mode == mode && !o.model.empty()) {
      throw Error(ErrorKind::usage,
                  fmt::format("what is '{}' for? This command takes no model", printable(o.model, 40)));
    }
  }
  if (o.question && !o.script.empty()) throw Error(ErrorKind::usage, "-p and --script exclude each other");
  if (o.resume_last && o.conversation && o.mode == Mode::chat) {
    throw Error(ErrorKind::usage, "-c and --resume exclude each other");
  }
  if (o.is_private && !o.db.empty()) throw Error(ErrorKind::usage, "--private and --db exclude each other");
  if (o.question && o.question->empty())
    throw Error(ErrorKind::usage, "-p: wanted a question, found nothing");
  if (o.is_private && o.mode == Mode::chat && (o.resume_last || o.conversation)) {
    throw Error(ErrorKind::usage, "--private keeps nothing, so there is no conversation to go on with");
  }
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  std::string token_list;
  CLI::App app(kDescription, "bitnet-chat");
  app.footer(kExitCodes);
  app.set_version_flag("--version", std::string("bitnet-chat ") + BITNET_VERSION);
  app.require_subcommand(0, 1);
  add_chat_options(app, options);
  add_tools(app, options, token_list);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& call) {
    options.print_and_exit = std::string(call.what()) + "\n";
    return options;
  } catch (const CLI::CallForHelp&) {
    options.print_and_exit = app.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::usage,
                fmt::format("{} (bitnet-chat --help shows what there is)", printable(error.what(), 300)));
  }
  if (!token_list.empty()) options.tokens = parse_ids(token_list);
  check_together(options);
  return options;
}

ChatSettings settings_from(const Options& options, ChatSettings settings) {
  for (const auto& [name, value] : options.settings) {
    if (name == "+stop") {
      settings.stop.push_back(value);
    } else {
      find_setting(name)->read(settings, value);
    }
  }
  settings.system =
      options.system.starts_with('@') ? read_whole_file(options.system.substr(1)) : options.system;
  settings.verbose = options.verbose;
  settings.is_private = options.is_private;
  settings.ctx = options.ctx;
  return settings;
}

}  // namespace bitnet
