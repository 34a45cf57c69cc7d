// Wires the program together: the command line picks a front end or a tool, and every error ends here.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <memory>

#include "app/base/blank.h"
#include "app/base/event_loop.h"
#include "app/base/exit_code.h"
#include "app/base/output.h"
#include "app/base/places.h"
#include "app/base/utf8_locale.h"
#include "app/chat/chat.h"
#include "app/chat/listing.h"
#include "app/cli/config_file.h"
#include "app/cli/options.h"
#include "app/cli/piped_input.h"
#include "app/cli/tools.h"
#include "app/cli/way_back.h"
#include "app/model/model_open.h"
#include "app/plain/line_loop.h"
#include "app/plain/ui_json.h"
#include "app/plain/ui_line.h"
#include "app/screen/ui_screen.h"
#include "app/script/own_terminal.h"
#include "app/script/script.h"
#include "app/serve/serve.h"
#include "app/store/sqlite_db.h"
#include "app/text/text_file.h"
#include "app/text/text_safe.h"
#include "engine/error.h"
#include "recorded.h"
#include "run_replay.h"

namespace bitnet {
namespace {

// Returns an empty path if neither XDG_DATA_HOME nor HOME is set.
std::string default_database_place() {
  try {
    return default_database_path();
  } catch (const Error&) {
    return {};
  }
}

bool is_usable(const std::string& file) {
  return !file.empty() && access(file.c_str(), R_OK | W_OK) == 0 && !disk_is_full(file);
}

// If the default location is not writable we go on without saving. A database that is there but cannot be
// read, or that the command line names, is an error.
std::unique_ptr<Store> open_store(const Options& options, std::string& warning) {
  if (options.is_private) return Store::in_memory();
  try {
    return Store::open(options.db);
  } catch (const Error& error) {
    if (!options.db.empty() || options.resume_last || options.conversation) throw;
    if (is_usable(default_database_place())) throw;
    warning = fmt::format("{}. Nothing is saved until that is mended; it is tried again with each turn.",
                          error.what());
    return Store::closed(options.db);
  }
}

KvFiles kv_files_for(const Options& options) {
  return options.is_private ? KvFiles() : kv_files(options.kv_cache);
}

// Removes what was in the trash for too long, with every trace of it. This happens at the end of a chat, when
// nobody waits.
void tidy(Store& store) {
  try {
    if (store.tidy()) kv_files(0).clear();  // one of the files may belong to what was removed
  } catch (const Error&) {
    // The end of a later chat tries again.
  }
}

// Reads the keys file into `keymap`. A mistake in the file of --keys is an error; a mistake in the usual file
// is returned, so that the screen can show it.
std::string read_keymap(const Options& options, Keymap& keymap) {
  if (!options.keys.empty()) {
    keymap.read(read_file(options.keys, kMostNamedBytes, Pipes::of_the_shell), options.keys);
    return {};
  }
  const std::string folder = config_folder();
  const std::string file = folder + "/keys";
  if (folder.empty() || access(file.c_str(), F_OK) != 0) return {};
  try {
    keymap.read(read_file(file), file);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Why -c has none to go on with: it leaves out what -p asked and what is archived.
std::string why_none_to_continue(Store& store) {
  const std::vector<StoredConversation> stored = store.conversations(1, /*archived=*/true);
  if (stored.empty() && !store.trash().empty())
    return fmt::format("-c: all that is stored is in the trash ({} shows it)",
                       store.command("list --deleted"));
  if (stored.empty()) return "-c: nothing is stored yet";
  return fmt::format(
      "-c: all that is stored is archived or was asked with -p ({} shows it); --resume {} opens the latest",
      store.command("list --all"), stored.front().id);
}

// Opens and shows the conversation that the command line names. Returns whether there is one.
bool open_wanted_conversation(const Options& options, Store& store, Chat& chat) {
  if (options.resume_last) {
    const auto latest = store.latest_conversation();
    if (!latest) throw Error(ErrorKind::runtime, why_none_to_continue(store));
    chat.open_conversation(*latest);
  } else if (options.conversation) {
    chat.open_conversation(conversation_to_open(store, *options.conversation).id);
  } else {
    return false;
  }
  // What the config file has is for new conversations; this one has its own.
  if (options.asks_persona) chat.submit("/persona " + options.persona);
  if (options.asks_system && !options.system.empty()) chat.submit("/system " + options.system);
  return true;
}

// Returns where a command or a screenshot may write if it comes from a file or from another program.
WriteRules script_rules(const Options& options) {
  if (options.allow_writes) return {.overwrite = options.force};
  return rules_for_script(options.force);
}

struct Input {
  std::optional<std::string> question;
  std::unique_ptr<ScriptDriver> script;
  bool piped_lines = false;  // each line of standard input is a turn, as soon as it comes
};

// A person types, and nothing else asks.
bool is_typed(const Input& input) { return !input.question && !input.script && !input.piped_lines; }

Input read_input(const Options& options, Output& err) {
  Input input;
  if (!options.script.empty()) {
    const std::string text = options.script == "-"
                                 ? read_standard_input()
                                 : read_file(options.script, kMostNamedBytes, Pipes::of_the_shell);
    input.script = std::make_unique<ScriptDriver>(parse_script(text, options.script), options.script,
                                                  script_rules(options));
  } else if (options.question) {
    input.question = options.question;
    const std::string piped = piped_text([&] {
      err.write("bitnet-chat: waiting for the end of standard input; </dev/null goes on without it\n");
    });
    if (!is_blank(piped)) *input.question += "\n\n" + piped;
  } else if (isatty(STDIN_FILENO) == 0 && options.output == OutputForm::jsonl) {
    input.piped_lines = true;
  } else if (isatty(STDIN_FILENO) == 0) {
    input.question = read_standard_input();
    while (input.question->ends_with('\n') || input.question->ends_with('\r')) input.question->pop_back();
  }
  // A question is never a command: a second slash says so.
  if (input.question && input.question->starts_with('/')) input.question->insert(0, 1, '/');
  return input;
}

int run_line_loop(Chat& chat, EventLoop& loop, Input& input, ScriptTarget& target,
                  const LineLoopHooks& hooks) {
  if (input.script) return run_script(chat, loop, *input.script, target, hooks);
  if (input.question) return run_question(chat, loop, *input.question, hooks);
  if (input.piped_lines) return run_piped_lines(chat, loop, hooks);
  return run_typed_lines(chat, loop, hooks);
}

// What a chat needs before it has a front end. It is opened first, so that an error in it is reported before
// the screen takes the terminal.
struct Ground {
  explicit Ground(const Options& options)
      : open_model(opener_for(options)), store(open_store(options, warning)) {}

  OpenModel open_model;
  std::string warning;  // why nothing is saved
  std::unique_ptr<Store> store;
};

// A chat and the worker that answers in it. `ground` and `front` must outlive it.
struct RunningChat {
  RunningChat(const Options& options, Ground& ground, const ChatSettings& settings, FrontEnd& front)
      : worker(ground.open_model, kv_files_for(options), device_check_for(options)),
        chat(make_chat(*ground.store, worker, settings, front, {.options = options})) {}

  Worker worker;
  std::unique_ptr<Chat> chat;
};

ScreenOptions screen_options_from(const Options& options) {
  ScreenOptions screen;
  screen.theme = !options.no_color && !options.theme.empty() ? options.theme
                 : wants_no_color(options)                   ? "mono"
                                                             : "";
  screen.state_folder = state_folder();
  screen.keep_history = !options.is_private;
  screen.record_input = options.record_input;
  screen.mouse = options.mouse;
  return screen;
}

// What is told once the terminal is as it was before.
struct Parting {
  std::string unsaved;
  std::string way_back;
};

int draw_chat(const Options& options, Input& input, const ChatSettings& settings, Parting& parting) {
  EventLoop loop;
  ScreenOptions screen_options = screen_options_from(options);
  const std::string keys_problem = read_keymap(options, screen_options.keymap);
  Ground ground(options);
  ScreenFrontEnd screen(loop, screen_options);
  RunningChat running(options, ground, settings, screen);
  Chat& chat = *running.chat;
  if (!ground.warning.empty()) screen.error(ground.warning);
  if (!keys_problem.empty()) screen.error(keys_problem);
  open_wanted_conversation(options, *ground.store, chat);
  if (!options.record.empty()) screen.record(options.record, named_rules(options));
  const int ended = with_recording(screen, [&] {
    const int code = screen.run(chat, input.script.get(), [&] { running.worker.start(); });
    return code == 0 && chat.failure() ? exit_code_of(chat.failure()->kind()) : code;
  });
  parting.unsaved = chat.close();
  if (!input.script) parting.way_back = way_back(options, chat.conversation(), *ground.store);
  tidy(*ground.store);
  return ended;
}

int run_on_screen(const Options& options, Input& input, const ChatSettings& settings, Output& err) {
  Parting parting;
  const int code = draw_chat(options, input, settings, parting);
  if (!parting.unsaved.empty()) err.write(make_safe(fmt::format("bitnet-chat: {}\n", parting.unsaved)));
  tell_way_back(parting.way_back, err);
  return code;
}

int run_plain(const Options& options, Input& input, const ChatSettings& settings, Output& out, Output& err) {
  EventLoop loop;
  LineOptions line;
  line.question = input.question.has_value();
  line.echo_user = input.script != nullptr;
  line.record_input = options.record_input;
  line.quiet = line.question && !options.verbose;
  const char* term = std::getenv("TERM");
  line.obeys = term != nullptr && std::string_view(term) != "dumb";
  line.dim = line.obeys && !wants_no_color(options);
  LineFrontEnd front(line, out, err);
  Ground ground(options);
  RunningChat running(options, ground, settings, front);
  Chat& chat = *running.chat;
  front.drive(chat);
  if (!options.record.empty()) front.record(options.record, named_rules(options));
  if (!ground.warning.empty()) front.error(ground.warning);
  if (!open_wanted_conversation(options, *ground.store, chat)) chat.show_all();
  if (input.question && is_blank(*input.question)) front.error("standard input is empty: nothing was asked");
  running.worker.start();
  const LineLoopHooks hooks{[&] { return front.output_closed(); }, [&] { return front.exit_code(); },
                            [&] { return front.take_returned(); }, [&] { return front.prompt(); },
                            [&](std::string_view line) { front.note_typed(line); }};
  const int code = with_recording(front, [&] { return run_line_loop(chat, loop, input, front, hooks); });
  if (const std::string left = chat.close(); !left.empty()) front.error(left);
  if (is_typed(input)) tell_way_back(way_back(options, chat.conversation(), *ground.store), err);
  tidy(*ground.store);
  return code;
}

// What a chat is to read, and the settings it begins with.
struct Asked {
  Asked(const Options& options, Output& err)
      : input(read_input(options, err)),
        settings(settings_from(options, input.script ? script_settings() : interactive_settings())) {
    settings.asks = is_typed(input);
    settings.titles = settings.asks && options.titles;
    settings.once = input.question && !options.keep;
    settings.files = input.script || input.piped_lines ? script_rules(options) : named_rules(options);
  }
  Input input;
  ChatSettings settings;
};

int run_json(const Options& options, Output& out, Output& err) {
  EventLoop loop;
  JsonFrontEnd front(out);
  try {
    if (!options.record.empty()) throw Error(ErrorKind::usage, "--record wants --output text or tui");
    Asked asked(options, err);
    Input& input = asked.input;
    const ChatSettings& settings = asked.settings;
    Ground ground(options);
    RunningChat running(options, ground, settings, front);
    Chat& chat = *running.chat;
    front.drive(chat);
    if (!ground.warning.empty()) front.error(ground.warning);
    if (!open_wanted_conversation(options, *ground.store, chat)) chat.show_all();
    running.worker.start();
    const LineLoopHooks hooks{[&] { return front.output_closed(); }, [&] { return front.exit_code(); }, {}};
    const int code = run_line_loop(chat, loop, input, front, hooks);
    if (const std::string left = chat.close(); !left.empty()) front.error(left);
    front.exit(code);
    tidy(*ground.store);
    return code;
  } catch (const Error& error) {
    front.fatal(error.what(), exit_code_of(error.kind()));
    front.exit(exit_code_of(error.kind()));
    throw;
  }
}

int run_chat(const Options& options, Output& out, Output& err) {
  if (options.output == OutputForm::jsonl) return run_json(options, out, err);
  Asked asked(options, err);
  Input& input = asked.input;
  const ChatSettings& settings = asked.settings;
  if (options.output == OutputForm::tui && input.question) {
    throw Error(ErrorKind::usage, "--output tui wants a terminal to type in, or a script");
  }
  const bool may_draw = !input.question && options.output != OutputForm::text;
  if (may_draw && screen_usable()) return run_on_screen(options, input, settings, err);
  if (options.output != OutputForm::tui) return run_plain(options, input, settings, out, err);
  const OwnTerminal terminal(80, 24);
  if (!screen_usable()) throw Error(ErrorKind::runtime, "TERM names a terminal that cannot show the screen");
  return run_on_screen(options, input, settings, err);
}

// Runs the commands that work on what is stored.
int run_on_store(const Options& options, Store& store, Output& out, Output& err) {
  switch (options.mode) {
    case Mode::replay:
      return run_replay(options, store, out, err);
    case Mode::search:
      return tool_search(store, options, out, err);
    case Mode::list:
      tool_list(store, options, out);
      break;
    case Mode::show:
      tool_show(store, options, out, err);
      break;
    case Mode::export_chat:
      tool_export(store, options, out, err);
      break;
    case Mode::import_chat:
      tool_import(store, options, out);
      break;
    case Mode::delete_chat: {
      // One of the files may belong to what is deleted, whatever the options say of new ones.
      const ClearedKvFiles cleared(options.now ? kv_files(0) : KvFiles());
      tool_delete(store, options, out);
      break;
    }
    case Mode::undelete_chat:
      tool_undelete(store, *options.conversation, out);
      break;
    default:
      break;
  }
  return 0;
}

int run_server(const Options& options, Output& out, Output& err) {
  const ServeOptions serve_options{options.host, options.port, options.key_file, options.cache};
  return serve(serve_options, opener_for(options), settings_from(options, interactive_settings()), out, err);
}

int run(const Options& options, Output& out, Output& err) {
  if (!options.print_and_exit.empty()) {
    out.write(options.print_and_exit);
    return 0;
  }
  refuse_command_as_model(options);
  switch (options.mode) {
    case Mode::chat:
      return run_chat(options, out, err);
    case Mode::serve:
      return run_server(options, out, err);
    case Mode::pull:
      return tool_pull(options, out, err);
    case Mode::models:
      tool_models(options, out);
      break;
    case Mode::remove_model:
      tool_remove(options, out, err);
      break;
    case Mode::replay:
    case Mode::list:
    case Mode::show:
    case Mode::search:
    case Mode::export_chat:
      return run_on_store(options, *Store::open_to_read(options.db), out, err);
    case Mode::delete_chat:
    case Mode::undelete_chat:
      return run_on_store(options, *Store::open_existing(options.db), out, err);
    case Mode::import_chat:
      if (options.is_private)
        throw Error(ErrorKind::usage, "import: what is imported is stored, and --private stores nothing");
      return run_on_store(options, *Store::open(options.db), out, err);
    case Mode::info:
      tool_info(options, out);
      break;
    case Mode::devices:
      tool_devices(options, out);
      break;
    case Mode::tokenize:
      tool_tokenize(options, out);
      break;
    case Mode::detokenize:
      tool_detokenize(options, out);
      break;
    case Mode::render:
      tool_render(options, out);
      break;
    case Mode::logits:
      tool_logits(options, out);
      break;
    case Mode::probe:
      tool_probe(options, err);
      break;
    case Mode::perplexity:
      tool_perplexity(options, out, err);
      break;
    case Mode::bench:
      if (options.validate) return tool_validate(options, out, err);
      tool_bench(options, out);
      break;
    case Mode::plan:
      tool_plan(options, out);
      break;
    case Mode::help:  // parse_options has put its text into print_and_exit
      break;
    case Mode::print:
      tool_print(options.words, out);
      break;
  }
  return 0;
}

// If one of the three were closed, the next file that is opened would get its number, and what is meant for a
// person would be written into that file.
void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace
}  // namespace bitnet

int main(int argc, char** argv) {
  bitnet::open_standard_descriptors();
  bitnet::use_utf8_locale();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is treated as a full disk
  bitnet::Output out(STDOUT_FILENO);
  bitnet::Output err(STDERR_FILENO, bitnet::Output::OnFailure::drop);
  const auto report = [&err](const char* what) {
    err.write(bitnet::make_safe(fmt::format("bitnet-chat: {}\n", what)));
  };
  try {
    return bitnet::run(bitnet::parse_options(argc, argv, bitnet::default_config_path()), out, err);
  } catch (const bitnet::Error& error) {
    report(error.what());
    return bitnet::exit_code_of(error.kind());
  } catch (const std::bad_alloc&) {
    report("out of memory");
  } catch (const std::exception& error) {
    report(error.what());
  }
  return bitnet::exit_code_of(bitnet::ErrorKind::runtime);
}
