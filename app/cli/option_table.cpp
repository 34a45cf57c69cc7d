#include "option_table.h"

#include <fmt/format.h>

#include <sstream>

#include "app/text/theme.h"
#include "engine/error.h"
#include "option_values.h"

namespace bitnet {
namespace {

using View = std::string_view;

constexpr const char* kOutputs = "text tui jsonl";
constexpr const char* kI2sLayouts = "128 64 1x4";
constexpr const char* kActivations = "relu2 silu";

I2sLayout i2s_layout_of(View word) {
  if (word == "64") return I2sLayout::block64;
  return word == "1x4" ? I2sLayout::rows1x4 : I2sLayout::block128;
}

const OptionRow kModelRows[] = {
    {.flags = "MODEL",
     .value = "MODEL",
     .words = "%model",
     .help = "GGUF file, folder of safetensors, or the name of a model as 'models' lists it; without it the "
             "bundled model answers",
     .example = "~/models/ggml-model-i2_s.gguf",
     .read = [](Options& o, View v) { o.model = not_empty("model", v); }},
    {.flags = "--models",
     .value = "FOLDER",
     .words = "%file",
     .help = "folder with models, which 'models' and /model list and which may be given by their names; may "
             "be given again",
     .example = "~/models",
     .repeats = true,
     .read = [](Options& o, View v) { o.model_folders.push_back(not_empty("models", v)); }},
    {.flags = "--device",
     .value = "N|NAME|cpu",
     .words = "cpu 0 1",
     .help = "number or part of a name as 'devices' lists them, or cpu",
     .example = "cpu",
     .read = [](Options& o, View v) { o.device = v; }},
    {.flags = "--threads",
     .value = "N",
     .help = "threads for --device cpu, at most as many as the process may use; otherwise one for each core",
     .example = "4",
     .read = [](Options& o, View v) { o.threads = count_value("threads", v, 1, 1024); }},
    {.flags = "--vram",
     .value = "SIZE|N%|auto",
     .words = "auto 2G 4G 50% 75%",
     .help =
         "how much of the device's memory to take; weights that do not fit lie in the computer's, where the "
         "device reads them at the speed of its link (auto: what is free, less a margin); 'plan' shows what "
         "comes of it",
     .example = "auto",
     .read = [](Options& o, View v) { o.vram = vram_value("vram", v); }},
    {.flags = "--ram",
     .value = "SIZE",
     .help =
         "most of the computer's memory for weights, and with --device cpu for all (otherwise as much as a "
         "GPU's driver gives, and with --device cpu all but a margin); what there is no room for is read "
         "from the model's file for every token",
     .example = "12G",
     .read = [](Options& o, View v) { o.ram = size_value("ram", v); }},
    {.flags = "--ctx",
     .value = "N",
     .help = "tokens of context; 0, or without it: as many as the model was trained for, up to 16384",
     .example = "4096",
     .read = [](Options& o, View v) { o.ctx = count_value("ctx", v, 0, 1 << 24); }},
    {.flags = "--chat-template",
     .value = "FILE",
     .words = "%file",
     .help = "Jinja file to use instead of the model's own",
     .example = "template.jinja",
     .read = [](Options& o, View v) { o.chat_template = not_empty("chat-template", v); }},
    {.flags = "--expert-trace",
     .value = "FILE",
     .words = "%file",
     .help = "write to it which experts each token has: a line with position, layer and ids for each",
     .read = [](Options& o, View v) { o.expert_trace = not_empty("expert-trace", v); }},
    {.flags = "--i2s-layout",
     .value = "128|64|1x4",
     .words = kI2sLayouts,
     .help =
         "how i2_s weights lie: in blocks of 128, or of 64 if an ARM build wrote them, or four rows a byte",
     .example = "128",
     .read = [](Options& o, View v) { o.i2s_layout = i2s_layout_of(one_of("i2s-layout", v, kI2sLayouts)); }},
    {.flags = "--activation",
     .value = "relu2|silu",
     .words = kActivations,
     .help = "of the feed-forward, if the file is wrong about it; 'info' prints what is used and why",
     .example = "relu2",
     .read =
         [](Options& o, View v) {
           o.activation =
               one_of("activation", v, kActivations) == "silu" ? Activation::silu : Activation::relu2;
         }},
    {.flags = "--steer",
     .value = "layer=L,file=F,scale=S",
     .help =
         "add a vector of an .npy file, S times, to the residual stream after layer L, at every position; "
         "may be given again",
     .repeats = true,
     .read = [](Options& o, View v) { o.steers.push_back(steer_value(v)); }},
    {.flags = "--ablate-head",
     .value = "L:H",
     .help = "let head H of layer L give zeros; may be given again",
     .repeats = true,
     .read = [](Options& o, View v) { o.ablated.push_back(head_value(v)); }},
};

const OptionRow kAskRows[] = {
    {.flags = "-p,--prompt",
     .value = "TEXT",
     .help =
         "ask this question, print the answer and end; text on standard input is added after a blank line "
         "(an @FILE is not read: pipe the file in)",
     .read =
         [](Options& o, View v) {
           if (v.find_first_not_of(" \t\r\n") == View::npos)
             throw Error(ErrorKind::usage, "-p: wanted a question, found nothing");
           o.question = v;
         }},
    {.flags = "--keep",
     .help = "let -c and the list of /open have the conversation of -p too, which they leave out otherwise",
     .example = "off",
     .read = [](Options& o, View v) { o.keep = on_or_off("keep", v); }},
    {.flags = "--script",
     .value = "FILE",
     .words = "%file",
     .help = "run a scripted session; - is standard input",
     .read = [](Options& o, View v) { o.script = not_empty("script", v); }},
    {.flags = "--output",
     .value = "text|tui|jsonl",
     .words = kOutputs,
     .help = "what is printed: text is plain lines; tui the screen, 80x24 if there is no terminal; jsonl one "
             "JSON object per line, and each line of standard input is a turn or a command",
     .example = "text",
     .read =
         [](Options& o, View v) {
           const std::string form = one_of("output", v, kOutputs);
           o.output = form == "text" ? OutputForm::text : form == "tui" ? OutputForm::tui : OutputForm::jsonl;
         }},
    {.flags = "--system",
     .value = "TEXT|@FILE",
     .help = "system prompt, or @FILE to read it from",
     .example = "Answer in one sentence.",
     .read = [](Options& o, View v) { o.system = v; }},
    {.flags = "--persona",
     .value = "NAME",
     .words = "brief coder editor teacher",
     .help = "who answers: a system prompt with settings, as /persona lists them; other options win over it",
     .example = "brief",
     .read = [](Options& o, View v) { o.persona = not_empty("persona", v); }},
};

const OptionRow kKeepRows[] = {
    {.flags = "-c,--continue",
     .help = "continue the last conversation",
     .read = [](Options& o, View v) { o.resume_last = on_or_off("continue", v); }},
    {.flags = "--resume",
     .value = "ID",
     .words = "%id",
     .help = "continue that conversation",
     .read = [](Options& o, View v) { o.conversation = conversation_id(v); }},
    {.flags = "--private",
     .help = "save nothing",
     .example = "off",
     .read = [](Options& o, View v) { o.is_private = on_or_off("private", v); }},
    {.flags = "--db",
     .value = "FILE",
     .words = "%file",
     .help = "database to keep conversations in",
     .example = "~/chats.db",
     .read = [](Options& o, View v) { o.db = not_empty("db", v); }},
    {.flags = "--no-titles",
     .help = "do not let the model make titles of new conversations in idle time",
     .example = "off",
     .read = [](Options& o, View v) { o.titles = !on_or_off("no-titles", v); }},
    {.flags = "--force",
     .help = "overwrite existing files; record even with --private",
     .read = [](Options& o, View v) { o.force = on_or_off("force", v); }},
    {.flags = "--allow-writes",
     .help = "let a script write anywhere, not only below the folder it is run in",
     .read = [](Options& o, View v) { o.allow_writes = on_or_off("allow-writes", v); }},
    {.flags = "--kv-cache",
     .value = "MIB",
     .help = "disk space for what the model has read of conversations, so that -c continues at once (2048); "
             "0: none",
     .example = "2048",
     .read = [](Options& o, View v) { o.kv_cache = count_value("kv-cache", v, 0, 1 << 24); }},
    {.flags = "--no-kv-cache",
     .help = "the same as --kv-cache 0",
     .example = "off",
     .read =
         [](Options& o, View v) {
           if (on_or_off("no-kv-cache", v)) o.kv_cache = 0;
         }},
};

const OptionRow kAnswerRows[] = {
    {.flags = "--temp", .value = "X", .setting = "temp", .example = ""},
    {.flags = "--top-k", .value = "N", .setting = "top_k", .example = ""},
    {.flags = "--top-p", .value = "X", .setting = "top_p", .example = ""},
    {.flags = "--min-p", .value = "X", .setting = "min_p", .example = ""},
    {.flags = "--repeat-penalty", .value = "X", .setting = "repeat_penalty", .example = ""},
    {.flags = "--repeat-last", .value = "N", .setting = "repeat_last", .example = ""},
    {.flags = "--seed", .value = "N", .words = "random", .setting = "seed", .example = ""},
    {.flags = "-n,--max-tokens", .value = "N", .setting = "max_tokens", .example = ""},
    {.flags = "--think", .value = "on|off", .words = "on off auto", .setting = "think", .example = ""},
    {.flags = "--draft", .value = "on|off", .words = "on off", .setting = "draft", .example = ""},
    {.flags = "--stop",
     .value = "TEXT",
     .help = "end an answer where this text appears; may be given again",
     .example = "###",
     .repeats = true,
     .read = [](Options& o, View v) { o.settings.emplace_back("+stop", not_empty("stop", v)); }},
};

const OptionRow kScreenRows[] = {
    {.flags = "--no-color",
     .help = "no colours (NO_COLOR does the same)",
     .example = "off",
     .read = [](Options& o, View v) { o.no_color = on_or_off("no-color", v); }},
    {.flags = "--theme",
     .value = "NAME",
     .words = "16 light dark mono",
     .help = "looks: 16 (the terminal's colours), light, dark or mono",
     .example = "16",
     .read = [](Options& o, View v) { o.theme = find_theme(v).name; }},
    {.flags = "--status", .value = "short|full", .words = "short full", .setting = "status", .example = ""},
    {.flags = "--record",
     .value = "FILE",
     .words = "%file",
     .help = "record what the terminal shows (asciicast v3)",
     .read = [](Options& o, View v) { o.record = not_empty("record", v); }},
    {.flags = "--record-input",
     .help = "record what is typed as well, even what the screen does not show",
     .read = [](Options& o, View v) { o.record_input = on_or_off("record-input", v); }},
    {.flags = "--mouse",
     .help = "take clicks: on a code block to copy it, in a list to pick from it; to select text, hold Shift "
             "then (Option in iTerm2)",
     .example = "off",
     .read = [](Options& o, View v) { o.mouse = on_or_off("mouse", v); }},
    {.flags = "--keys",
     .value = "FILE",
     .words = "%file",
     .help =
         "file with lines of 'key = action', for the screen; otherwise bitnet-chat/keys in the config folder",
     .example = "~/my-keys",
     .read = [](Options& o, View v) { o.keys = not_empty("keys", v); }},
    {.flags = "--verbose",
     .help = "report how each answer was made",
     .example = "off",
     .read = [](Options& o, View v) { o.verbose = on_or_off("verbose", v); }},
};

const OptionRow kOtherRows[] = {
    {.flags = "--config",
     .value = "FILE",
     .words = "%file",
     .help = "read this config file instead of the usual one",
     .read = [](Options& o, View v) { o.config = not_empty("config", v); }},
    {.flags = "--version",
     .help = "print the version",
     .read = [](Options& o, View) { o.print_and_exit = "bitnet-chat " BITNET_VERSION "\n"; }},
    {.flags = "-h,--help", .help = "print this help; after a command, the help of that command"},
};

const OptionGroup kGroups[] = {
    {"Model and device", kModelRows}, {"Asking", kAskRows},    {"Keeping", kKeepRows},
    {"Answers", kAnswerRows},         {"Screen", kScreenRows}, {"Other", kOtherRows},
};

const TextRow kExitCodes[] = {
    {"0", "ok; also if the reader of a pipe went away"},
    {"1",
     "runtime error; also if search finds nothing, or if a line of --output jsonl failed and no answer came "
     "after it"},
    {"2",
     "usage: the command line, the config file or a script cannot be understood, or a file that they name "
     "cannot be read"},
    {"3",
     "an expectation or a command of a script failed, a replay differed, or bench validate found a mistake"},
    {"4", "the model cannot be loaded"},
    {"5",
     "no usable device, too little memory on it or in the budget of --vram or --ram, or the device was lost"},
    {"6", "the database cannot be used"},
    {"129", "hung up (SIGHUP)"},
    {"130", "interrupted (SIGINT)"},
    {"143", "terminated (SIGTERM)"},
};

const TextRow kEnvironment[] = {
    {"BITNET_CHAT_MODEL", "the model if the command line names none; wins over the config file"},
    {"NO_COLOR", "no colours, if it is set and not empty"},
    {"HF_TOKEN", "the token that pull sends to the hub, and to no other host"},
    {"HF_ENDPOINT", "the hub to pull from, instead of https://huggingface.co"},
    {"http_proxy, https_proxy, all_proxy, no_proxy", "proxies for pull"},
    {"XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CACHE_HOME",
     "folders for files of the program; must be absolute"},
};

const TextRow kPlaces[] = {
    {"$XDG_CONFIG_HOME/bitnet-chat/config", "config file (~/.config/bitnet-chat/config)"},
    {"$XDG_CONFIG_HOME/bitnet-chat/keys", "keys file (~/.config/bitnet-chat/keys)"},
    {"$XDG_CONFIG_HOME/bitnet-chat/personas, prompts", "personas and prompt templates of your own, NAME.txt"},
    {"$XDG_CONFIG_HOME/bitnet-chat/serve-key", "the key of serve where it made one, which is secret"},
    {"$XDG_DATA_HOME/bitnet-chat/chats.db", "conversations (~/.local/share/bitnet-chat/chats.db)"},
    {"$XDG_STATE_HOME/bitnet-chat",
     "history of the input line, and log: what drivers write while the screen is up "
     "(~/.local/state/bitnet-chat)"},
    {"$XDG_CACHE_HOME/bitnet-chat",
     "pulled models, compiled kernels, and what the model has read (~/.cache/bitnet-chat); all of it can be "
     "fetched or made again"},
};

const TextRow kTerminals[] = {
    {"xterm, kitty, gnome-terminal", "the wheel works; with --mouse, Shift selects text"},
    {"tmux",
     "the wheel works as in the terminal around it, which has to send arrow keys unasked (in xterm the "
     "resource XTerm*alternateScroll: true); with tmux's own 'mouse on' the wheel needs --mouse"},
    {"iTerm2",
     "the wheel works in 3.6; otherwise set 'Scroll wheel sends arrow keys when in alternate screen mode' "
     "under Advanced; with --mouse, Option selects text"},
};

}  // namespace

std::span<const OptionGroup> option_groups() { return kGroups; }
std::span<const TextRow> terminals() { return kTerminals; }
std::span<const TextRow> exit_codes() { return kExitCodes; }
std::span<const TextRow> environment_variables() { return kEnvironment; }
std::span<const TextRow> file_places() { return kPlaces; }

std::vector<std::string> option_flags(const OptionRow& row) {
  std::vector<std::string> flags;
  std::istringstream list{row.flags};
  for (std::string flag; std::getline(list, flag, ',');) flags.push_back(flag);
  return flags;
}

std::string option_key(const OptionRow& row) {
  const std::string last = option_flags(row).back();
  return last == "MODEL" ? "model" : last.substr(last.find_first_not_of('-'));
}

std::string option_help(const OptionRow& row) {
  if (row.setting == nullptr) return row.help;
  const Setting* setting = find_setting(row.setting);
  return fmt::format("{} ({})", setting->help, setting->range);
}

std::vector<std::string> split_words(std::string_view words) {
  std::vector<std::string> list;
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;) list.push_back(word);
  return list;
}

void read_option(const OptionRow& row, Options& options, std::string_view value) {
  if (row.setting == nullptr) return row.read(options, value);
  ChatSettings scratch;
  find_setting(row.setting)->read(scratch, value);
  options.settings.emplace_back(row.setting, value);
}

}  // namespace bitnet
