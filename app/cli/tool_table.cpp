// The commands of the command line, with the options that only they have.
#include <fmt/format.h>

#include "app/pull/catalogue.h"
#include "option_table.h"
#include "option_values.h"

namespace bitnet {
namespace {

using View = std::string_view;

constexpr const char* kFormats = "md json openai";
constexpr const char* kPrinted = "config man bash zsh fish";
constexpr uint32_t kMillion = 1 << 20;

std::string names_in_catalogue() {
  std::string names;
  for (const CatalogueRow& row : catalogue()) {
    if (!row.is_folder) names += fmt::format("{}{}", names.empty() ? "" : " ", row.name);
  }
  return names;
}
const std::string kKnown = names_in_catalogue();

const OptionRow kReplayRows[] = {
    {.flags = "--speed",
     .value = "X",
     .help = "so many times as fast as it was",
     .read = [](Options& o, View v) { o.speed = number_value<double>("speed", v, 0.01, 1000); }},
    {.flags = "--instant",
     .help = "draw it all at once",
     .read =
         [](Options& o, View v) {
           if (on_or_off("instant", v)) o.speed = 0;
         }},
    {.flags = "--verify",
     .help = "run the model again and compare the tokens",
     .read = [](Options& o, View v) { o.verify = on_or_off("verify", v); }},
    {.flags = "--model",
     .value = "MODEL",
     .words = "%model",
     .help = "file to verify with; otherwise the one that answered",
     .read = [](Options& o, View v) { o.model = not_empty("model", v); }},
};
const OptionRow kListRows[] = {
    {.flags = "--all",
     .help = "also list archived conversations",
     .read = [](Options& o, View v) { o.all = on_or_off("all", v); }},
    {.flags = "--deleted",
     .help = "list the trash, and until when each conversation stays there",
     .read = [](Options& o, View v) { o.deleted = on_or_off("deleted", v); }},
    {.flags = "--json",
     .help = "print a JSON list, an object for each; times are milliseconds since 1970",
     .read = [](Options& o, View v) { o.json = on_or_off("json", v); }},
};
const OptionRow kShowRows[] = {
    {.flags = "--json",
     .help = "print one JSON object: the conversation and the branch that is shown",
     .read = [](Options& o, View v) { o.json = on_or_off("json", v); }},
};
const OptionRow kSearchRows[] = {
    {.flags = "--json",
     .help = "print a JSON list, an object for each message that has the words",
     .read = [](Options& o, View v) { o.json = on_or_off("json", v); }},
};
const OptionRow kDeleteRows[] = {
    {.flags = "--now",
     .help = "delete it for good: no word of it stays in the database",
     .read = [](Options& o, View v) { o.now = on_or_off("now", v); }},
};
const OptionRow kExportRows[] = {
    {.flags = "--format",
     .value = "md|json|openai",
     .words = kFormats,
     .help = "form of what is written: md, json or openai (md)",
     .read = [](Options& o, View v) { o.format = one_of("format", v, kFormats); }},
    {.flags = "-o,--out",
     .value = "FILE",
     .words = "%file",
     .help = "file to write; otherwise standard output",
     .read = [](Options& o, View v) { o.out = not_empty("out", v); }},
};
const OptionRow kTokenizeRows[] = {
    {.flags = "--special",
     .help = "read the text of a special token as that token",
     .read = [](Options& o, View v) { o.special = on_or_off("special", v); }},
    {.flags = "--csv",
     .help = "print commas between the ids, as --tokens takes them",
     .read = [](Options& o, View v) { o.csv = on_or_off("csv", v); }},
};
constexpr OptionRow kTokens = {
    .flags = "--tokens", .value = "IDS", .help = "ids with commas between", .read = [](Options& o, View v) {
      o.tokens = token_ids(v);
    }};
constexpr OptionRow kOut = {
    .flags = "--out", .value = "FILE", .words = "%file", .help = ".npy file", .read = [](Options& o, View v) {
      o.out = not_empty("out", v);
    }};
constexpr OptionRow kSpecial = {.flags = "--special",
                                .help = "read the text of a special token as that token",
                                .read = [](Options& o, View v) { o.special = on_or_off("special", v); }};
constexpr OptionRow kHashModel = {
    .flags = "--record-model-sha256",
    .help = "also hash the whole model file for the metadata, of which there is none with --tokens",
    .read = [](Options& o, View v) { o.hash_model = on_or_off("record-model-sha256", v); }};
constexpr OptionRow kJson = {.flags = "--json",
                             .help = "print one JSON object",
                             .read = [](Options& o, View v) { o.json = on_or_off("json", v); }};
const OptionRow kLogitsRows[] = {
    kTokens,
    kOut,
    {.flags = "--top",
     .value = "K",
     .help = "print the K likeliest next tokens as JSON",
     .read = [](Options& o, View v) { o.top = count_value("top", v, 1, kMillion); }},
    kSpecial,
    kHashModel,
    {.flags = "--prefill",
     .value = "N",
     .help = "tokens per batch; 1 = one by one",
     .read = [](Options& o, View v) { o.prefill = count_value("prefill", v, 1, kMillion); }},
};
const OptionRow kProbeRows[] = {
    kTokens,
    {.flags = "--stimuli",
     .value = "FILE",
     .words = "%file",
     .help = "JSON array of {root, pattern, expected_surface, prompts: {template: text}}; the result is "
             "[stimuli, layers, width]",
     .read = [](Options& o, View v) { o.stimuli = not_empty("stimuli", v); }},
    {.flags = "--template",
     .value = "NAME[,NAME]",
     .help = "which of the prompts (en_surface_probe)",
     .read = [](Options& o, View v) { o.templates = words_of_list("template", v); }},
    {.flags = "--position",
     .value = "NAME[,NAME]",
     .words = "last root pattern prompt_mean mean",
     .help = "tokens whose values are averaged: last, root, pattern, prompt_mean, mean or an index (last)",
     .read = [](Options& o, View v) { o.positions = words_of_list("position", v); }},
    {.flags = "--what",
     .value = "STAGE[,STAGE]",
     .words = "residual attention ffn qkv query heads input weights",
     .help =
         "what is looked at: residual (after the block), attention and ffn (what they add to it), qkv, query "
         "(after RoPE), heads, input (of attention), or weights (of attention in one layer, [n_head, "
         "n_tokens, n_tokens]) (residual); several of one prompt are written as OUT_STAGE.npy",
     .read = [](Options& o, View v) { o.what = stage_values("what", v); }},
    {.flags = "--layers",
     .value = "A-B",
     .help = "from layer A to layer B, which is included (all)",
     .read =
         [](Options& o, View v) {
           o.layers = v.find('-') == View::npos ? pair_value("layers", fmt::format("{0}-{0}", v), '-')
                                                : pair_value("layers", v, '-');
         }},
    {.flags = "--generate",
     .value = "N",
     .help = "tokens of the greedy continuation that is compared with expected_surface (16); 0: none",
     .read = [](Options& o, View v) { o.generate = count_value("generate", v, 0, kMillion); }},
    {.flags = "--limit",
     .value = "N",
     .help = "the first N stimuli",
     .read = [](Options& o, View v) { o.limit = count_value("limit", v, 1, kMillion); }},
    {.flags = "--no-reuse",
     .help = "compute every prompt from its first token",
     .read = [](Options& o, View v) { o.reuse = !on_or_off("no-reuse", v); }},
    kOut,
    kSpecial,
    kHashModel,
};
const OptionRow kPerplexityRows[] = {
    {.flags = "--stride",
     .value = "N",
     .help = "let windows overlap: each begins N tokens after the one before, and what it adds is predicted",
     .read = [](Options& o, View v) { o.stride = count_value("stride", v, 1, kMillion); }},
    {.flags = "--limit",
     .value = "N",
     .help = "the first N windows",
     .read = [](Options& o, View v) { o.limit = count_value("limit", v, 1, kMillion); }},
    kJson,
};
const OptionRow kPlanRows[] = {
    {.flags = "--json",
     .help = "print one JSON object",
     .read = [](Options& o, View v) { o.json = on_or_off("json", v); }},
};
const OptionRow kServeRows[] = {
    {.flags = "--port",
     .value = "N",
     .help = "port to listen on (8080); 0: one that is free, which is printed",
     .read = [](Options& o, View v) { o.port = static_cast<uint16_t>(count_value("port", v, 0, 65535)); }},
    {.flags = "--host",
     .value = "ADDR",
     .help = "address to listen on (127.0.0.1); on any that others reach, clients have to show a key",
     .read = [](Options& o, View v) { o.host = not_empty("host", v); }},
    {.flags = "--key-file",
     .value = "FILE",
     .words = "%file",
     .help = "file of mode 0600 with the key that clients show; made with a new key where there is none "
             "(serve-key in the config folder; none on 127.0.0.1)",
     .read = [](Options& o, View v) { o.key_file = not_empty("key-file", v); }},
    {.flags = "--cache",
     .value = "SIZE",
     .help = "memory for what the model has read of the last conversations (1G)",
     .read = [](Options& o, View v) { o.cache = size_value("cache", v); }},
};
const OptionRow kModelsRows[] = {
    kJson,
    {.flags = "--names",
     .help = "print nothing but the names of what is here",
     .read = [](Options& o, View v) { o.names = on_or_off("names", v); }},
};
const OptionRow kRemoveRows[] = {
    {.flags = "--yes", .help = "do not ask", .read = [](Options& o, View v) { o.yes = on_or_off("yes", v); }},
};
const OptionRow kBenchRows[] = {
    {.flags = "-p",
     .value = "N",
     .help = "tokens of prefill (512)",
     .read = [](Options& o, View v) { o.bench_prompt = count_value("-p", v, 1, kMillion); }},
    {.flags = "-n",
     .value = "N",
     .help = "tokens of decode (128)",
     .read = [](Options& o, View v) { o.bench_tokens = count_value("-n", v, 1, kMillion); }},
    {.flags = "-d",
     .value = "N",
     .help = "tokens in the context before that (0)",
     .read = [](Options& o, View v) { o.bench_depth = count_value("-d", v, 0, kMillion); }},
    {.flags = "-r",
     .value = "N",
     .help = "runs (5)",
     .read = [](Options& o, View v) { o.bench_repeat = count_value("-r", v, 1, 1000); }},
    {.flags = "--json",
     .help = "print one JSON object",
     .read = [](Options& o, View v) { o.json = on_or_off("json", v); }},
};

void read_id(Options& o, View v) { o.conversation = conversation_id(v); }
void read_model(Options& o, View v) { o.model = not_empty("model", v); }
void read_bench(Options& o, View v) {
  if (o.words.empty() && v == "validate")
    o.validate = true;
  else if (o.words.empty() || o.words == "validate")
    read_model(o, v);
  else
    throw Error(ErrorKind::usage,
                fmt::format("what is '{}' for? (bitnet-chat bench --help shows what there is)", v));
  o.words = v;
}

const ToolRow kTools[] = {
    {"list", Mode::list, "", "", "list the stored conversations, the latest first", nullptr, kListRows},
    {"show", Mode::show, "ID", "%id", "print a stored conversation", read_id, kShowRows},
    {"search", Mode::search, "TEXT...", "", "find words in everything that was said",
     [](Options& o, View v) { o.words += fmt::format("{}{}", o.words.empty() ? "" : " ", v); }, kSearchRows},
    {"replay", Mode::replay, "ID", "%id", "draw a stored conversation again, token by token", read_id,
     kReplayRows},
    {"export", Mode::export_chat, "ID", "%id", "write a stored conversation to a file", read_id, kExportRows},
    {"import",
     Mode::import_chat,
     "FILE",
     "%file",
     "store the conversations of a file: md, json or openai as written by export, or ShareGPT",
     [](Options& o, View v) { o.file = not_empty("FILE", v); },
     {}},
    {"delete", Mode::delete_chat, "ID...", "%id", "put stored conversations into the trash for 30 days",
     [](Options& o, View v) { o.conversations.push_back(conversation_id(v)); }, kDeleteRows},
    {"undelete",
     Mode::undelete_chat,
     "ID",
     "%deleted",
     "bring a conversation back from the trash",
     read_id,
     {}},
    {"models", Mode::models, "", "",
     "list the models that are here and those that can be pulled, with what they take and whether they fit",
     nullptr, kModelsRows},
    {"pull",
     Mode::pull,
     "NAME",
     kKnown.c_str(),
     "fetch a model: a name that 'models' lists, OWNER/REPO or OWNER/REPO/FILE.gguf of Hugging Face, or a "
     "URL; MODEL can then be that name",
     [](Options& o, View v) { o.words = not_empty("pull", v); },
     {}},
    {"rm", Mode::remove_model, "NAME", "%pulled",
     "delete a pulled model, or what came of one that was stopped",
     [](Options& o, View v) { o.words = not_empty("rm", v); }, kRemoveRows},
    {"info", Mode::info, "[MODEL]", "%model", "show what a model file holds", read_model, {}},
    {"devices",
     Mode::devices,
     "[MODEL]",
     "%model",
     "list the devices that could run a model, and whether it fits",
     read_model,
     {}},
    {"tokenize", Mode::tokenize, "MODEL", "%model", "turn text on standard input into token ids", read_model,
     kTokenizeRows},
    {"detokenize",
     Mode::detokenize,
     "MODEL",
     "%model",
     "turn token ids on standard input into bytes",
     read_model,
     {}},
    {"render",
     Mode::render,
     "MODEL",
     "%model",
     "turn a JSON list of {role, content} on standard input into a prompt",
     read_model,
     {}},
    {"logits", Mode::logits, "MODEL", "%model",
     "write the logits after every token of --tokens, float32 [n_tokens, n_vocab], or after --prompt, [1, "
     "n_vocab]",
     read_model, kLogitsRows},
    {"probe", Mode::probe, "MODEL", "%model",
     "write what is inside a model, float32 [n_layers, n_embd]: after --tokens, after --prompt, or for each "
     "of many --stimuli",
     read_model, kProbeRows},
    {"perplexity", Mode::perplexity, "MODEL FILE", "%model",
     "measure how well a model predicts a text, in windows of --ctx tokens (512), of which the second half "
     "counts",
     [](Options& o, View v) {
       std::string& argument = o.words.empty() ? o.model : o.file;  // MODEL comes first
       argument = o.words = not_empty("perplexity", v);
     },
     kPerplexityRows},
    {"bench", Mode::bench, "[validate] [MODEL]", "%model",
     "measure the speed of prefill and decode; 'bench validate' also compares what is computed, stage by "
     "stage, with golden values or, where a model has none, with the CPU's plain kernels, and tokens one by "
     "one with several together; --json makes it a report for others",
     read_bench, kBenchRows},
    {"plan", Mode::plan, "[MODEL]", "%model",
     "show what of a model would lie where, and how fast it would be, before anything is loaded", read_model,
     kPlanRows},
    {"serve", Mode::serve, "[MODEL]", "%model",
     "answer programs on this machine that speak the OpenAI API, until ^C: /v1/chat/completions, "
     "/v1/completions, /v1/models, /tokenize and /detokenize",
     read_model, kServeRows},
    {"help",
     Mode::help,
     "[COMMAND]",
     "%command",
     "print what --help prints, or what COMMAND --help does",
     [](Options& o, View v) { o.words = v; },
     {}},
    {"print",
     Mode::print,
     "WHAT",
     kPrinted,
     "print an example config file (config), the man page (man), or completions for bash, zsh or fish",
     [](Options& o, View v) { o.words = one_of("print", v, kPrinted); },
     {}},
};

}  // namespace

std::span<const ToolRow> tool_table() { return kTools; }

const ToolRow* find_tool(std::string_view name) {
  for (const ToolRow& tool : kTools) {
    if (name == tool.name) return &tool;
  }
  return nullptr;
}

}  // namespace bitnet
