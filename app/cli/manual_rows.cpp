// What the man page says of programs that lead the chat or ask the server. tests/program/install_test.py and
// serve_test.py hold these rows against the program.
#include "option_table.h"

namespace bitnet {
namespace {

const TextRow kScriptVerbs[] = {
    {"@wait idle [SECONDS]", "until nothing runs; 60 s unless told"},
    {"@wait /PATTERN/ [SECONDS]", "until what is visible matches; 60 s unless told"},
    {"@expect /PATTERN/", "fails the script unless what is visible matches now or once nothing runs"},
    {"@expect-not /PATTERN/", "fails the script if what is visible matches once nothing runs"},
    {"@key NAME", "presses a key: Enter, Esc, Tab, Up, PgUp, F1, C-c, M-Enter, a single character"},
    {"@resize COLSxROWS", "resizes the screen; of plain lines, what a screenshot shows"},
    {"@interrupt after=N", "stops the answer that runs, or else the next one, after N tokens"},
    {"@screenshot FILE", "writes what is visible, as text; of plain lines all of them, until a @resize"},
    {"@allow-errors [off]",
     "from here on, a command or a turn that fails does not end the script; with off it does again"},
};

const TextRow kServerMembers[] = {
    {"messages", "the conversation, of texts alone; the last message is the user's (chat completions)"},
    {"prompt", "one text, or a list of tokens (completions)"},
    {"model", "the name that /v1/models has, or nothing"},
    {"stream", "true: the answer comes as it is made; stream_options may be {\"include_usage\": true}"},
    {"max_tokens", "of the answer; also max_completion_tokens"},
    {"temperature", "as the setting temp; so are top_k, top_p, min_p and repeat_penalty, and repeat_last_n is "
                    "repeat_last"},
    {"seed", "where the random choices begin; without it, or with -1, the server takes one and names it"},
    {"stop", "a text that ends the answer, or up to 16 of them"},
    {"logprobs", "true: log-probabilities of the tokens, and with top_logprobs of so many candidates (chat "
                 "completions); a number of candidates (completions)"},
    {"chat_template_kwargs", "{\"enable_thinking\": true or false}, as the setting think"},
};

}  // namespace

std::span<const TextRow> script_verbs() { return kScriptVerbs; }
std::span<const TextRow> server_members() { return kServerMembers; }

}  // namespace bitnet
