// The keys of the JSON that the program prints. tests/program/json_test.py holds this table against the
// program.
#include "option_table.h"

namespace bitnet {
namespace {

const JsonRow kCommandRows[] = {
    {"list --json", ".[]", "id title created updated messages archived once [deleted] [until]",
     "a conversation; messages is their number, once is true of one that -p asked, deleted is when it went "
     "into the trash (--deleted), and until is when it is removed"},
    {"show --json", ".", "id title created updated messages archived once [deleted] [until] system branch",
     "the conversation and its system prompt"},
    {"show --json", ".branch[]", "id role text created sibling siblings [thought] [finish]",
     "the messages that are shown, the first one first; role is user or assistant, and finish says why an "
     "answer ended"},
    {"search --json", ".[]", "conversation title archived message number role snippet marked",
     "a message that has the words; number is what /goto takes, and marked is the snippet with the words in "
     "brackets"},
    {"models --json", ".", "device here known",
     "the models that are here, and the others that are known by a name"},
    {"models --json", ".here[]",
     "name path from bytes memory_bytes fits runs problem [title] [repository] [file] [architecture] [type] "
     "[licence] [is_folder]",
     "a model that is here; fits says where its weights would lie, and problem why it cannot be run; the "
     "last seven are of one that is known by a name"},
    {"models --json", ".known[]",
     "name bytes bytes_are_exact fetched_bytes memory_bytes fits runs problem title repository file "
     "architecture type licence is_folder",
     "a model that can be fetched; fetched_bytes is what came of a pull that was stopped"},
    {"plan --json", ".",
     "model device memory_bytes free_bytes budget_bytes context on_device in_host read_on_device "
     "read_in_host in_file read_in_file rows device_gb_per_s link_gb_per_s copies_gb_per_s tokens_per_s "
     "all_on_device least_on_device cpu",
     "bytes that would lie on the device, in the computer's memory and in the file, and those that a token "
     "reads there"},
    {"plan --json", ".rows[]", "what on_device in_host in_file read_a_token",
     "the same for each kind of weights"},
    {"plan --json", ".cpu", "gb_per_s tokens_per_s", "what the CPU would reach"},
    {"bench --json", ".",
     "model fingerprint device driver depth runs load prefill decode read_gb_per_s placement "
     "plain_head_bound",
     "what was measured, in tokens a second"},
    {"bench --json", ".load", "bytes seconds upload_seconds", "how the model was loaded"},
    {"bench --json", ".prefill", "tokens median min max", "what the runs reached, in tokens a second"},
    {"bench --json", ".decode",
     "tokens median min max dispatches_per_token bytes_per_token gb_per_s percent_of_copy_speed",
     "the same, and what of the memory's speed it is"},
    {"bench --json", ".placement",
     "on_device in_host read_in_host in_file read_in_file file_gb_per_s link_gb_per_s percent_of_link "
     "expert_places expert_uses expert_hits expert_copies",
     "bytes of the model on the device, in the computer's memory and in the file, what a token reads there "
     "and how fast; the last three count experts in all runs"},
    {"bench validate --json", ".",
     "schema_version good first_failure compared_with build device model tokens stages batches bench",
     "what agrees; good is false where something differs, which first_failure names; bench is what 'bench "
     "--json' prints"},
    {"bench validate --json", ".compared_with", "kind what",
     "with this the stages were compared; kind is golden or cpu"},
    {"bench validate --json", ".build", "version commit compiler flags",
     "the program; commit is null where it was built outside of its repository"},
    {"bench validate --json", ".device",
     "name driver api software memory_bytes unified subgroup_size integer_dot fast_integer_dot int8_matrix "
     "copy_queue arithmetic",
     "the device and what it has"},
    {"bench validate --json", ".model", "name file bytes architecture layers fingerprint", "the model"},
    {"bench validate --json", ".stages[]",
     "pass layer stage cosine bar largest_difference largest_value good",
     "a stage of a layer beside what it was compared with"},
    {"bench validate --json", ".batches[]", "batch same largest_difference largest_value",
     "batches of that many tokens, beside the same tokens one by one"},
    {"perplexity --json", ".",
     "model fingerprint device arithmetic file tokens window stride windows predicted nll perplexity "
     "standard_error",
     "what was measured; nll is the mean of a predicted token, and standard_error that of perplexity"},
    {"logits --top", ".", "model fingerprint token_ids top",
     "the prompt's tokens and what is likely after them"},
    {"logits --top", ".top[]", "id text logit probability", "a token, the likeliest first"},
};

const JsonRow kEventRows[] = {
    {"session", "", "conversation model device context saved",
     "which conversation goes on, sent again whenever that changes; conversation is null until its first "
     "turn is stored"},
    {"user", "", "id number text sibling siblings",
     "a turn that was taken; id is the database's, number is what /goto takes"},
    {"token", "", "message id text logprob",
     "a piece of the answer; id and logprob are null where text was held back until now"},
    {"thought", "", "message id text logprob", "the same of what the model thinks before it answers"},
    {"usage", "",
     "conversation message number text finish sibling siblings prompt_tokens reused_tokens answer_tokens "
     "prefill_seconds decode_seconds [thought] [thought_tokens]",
     "the whole answer at its end, and what it took; answer_tokens counts those of the thought too"},
    {"command", "", "command text",
     "what a command printed; command is its name, \"notice\" for what the program says by itself, or "
     "\"input\" for a turn that was not taken or is to be rewritten"},
    {"command", "transcript", "command messages",
     "the messages that are shown now, where a conversation is opened and after a step in the tree"},
    {"command", "pending", "command files",
     "what /read has put into the next turn, whenever that changes: name, bytes and tokens, which are null "
     "while the model loads"},
    {"error", "", "text [code]", "what went wrong; code is the exit code of an error that ends the program"},
    {"exit", "", "code", "the last line"},
};

}  // namespace

std::span<const JsonRow> json_of_commands() { return kCommandRows; }
std::span<const JsonRow> json_events() { return kEventRows; }

}  // namespace bitnet
