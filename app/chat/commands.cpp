#include "commands.h"

#include <sstream>

#include "do.h"

namespace bitnet {
namespace {

using enum Meanwhile;

const Command kCommands[] = {
    {"/help", "/?", "[COMMAND|keys]", "what there is to type", "keys %commands", runs, do_help},
    {"/new", "/clear", "", "begin a new conversation; the old one stays stored", "", leaves, do_new},
    {"/open", "", "[ID]", "go on with a stored conversation, or pick one", "%ids", leaves, do_open,
     "Without ID, a list to pick from: type to narrow it. ^O does the same.", runs},
    {"/list", "", "[all|deleted]", "the stored conversations, the latest first", "all deleted", runs, do_list,
     "With all, archived ones too; with deleted, the trash."},
    {"/search", "", "TEXT", "find words in everything that was said", "", runs, do_search,
     "Every word must be there; the last may be the beginning of one. Where no words match, parts of words "
     "do."},
    {"/title", "", "[TEXT]", "show or change the conversation's title", "", runs, do_title},
    {"/archive", "", "[ID|off [ID]]", "put a conversation away; off takes it back", "off %ids | %archived",
     leaves, do_archive, "/list leaves it out, /list all and /search do not. Without ID, this conversation."},
    {"/delete", "", "[ID] [now]", "delete a conversation; /undelete brings it back", "now %ids | now", leaves,
     do_delete,
     "Without ID, this one. It lies in the trash for 30 days; with now it is gone at once, and no word of it "
     "stays in the database."},
    {"/undelete", "", "[ID]", "bring a conversation back from the trash", "%deleted", leaves, do_undelete,
     "Without ID, the one deleted last; /list deleted shows them."},
    {"/regen", "/retry", "", "another answer to the last turn", "", stops, do_regen,
     "The old one stays stored as its sibling: 2/2 stands under the new one, and /goto moves between them."},
    {"/undo", "", "", "step back one turn; /redo brings it back", "", stops, do_undo},
    {"/redo", "", "", "bring back what /undo took away", "", waits, do_redo},
    {"/edit", "", "[TEXT]", "rewrite your last turn", "", stops, do_edit,
     "TEXT takes its place and is sent; without TEXT the turn goes back to the input line. The old turn and "
     "what followed stay stored. /goto N first for an earlier turn."},
    {"/continue", "", "", "go on with the last answer where it stopped", "", waits, do_continue,
     "Where turns follow it, a copy goes on, and it stays as it was for them."},
    {"/fork", "", "[N]", "begin a new branch, here or at message N", "", waits, do_fork,
     "What is shown now stays as a branch of its own: /branches lists it, and /goto goes back to it."},
    {"/branches", "", "", "the branches of this conversation", "", runs, do_branches,
     "Each with the number of its last message, the last turn and answer, and where it leaves the branch "
     "that is shown."},
    {"/goto", "", "[N]", "go to message N; without N, the numbers", "", waits, do_goto,
     "N may be in any branch; a turn of yours is shown with its newest answer. What follows stays stored."},
    {"/set", "", "[NAME [VALUE]]", "show or change how answers are made and shown", "%settings", runs,
     do_set},
    {"/think", "", "[on|off|auto]", "show or change whether the model thinks first", "on off auto", runs,
     do_think,
     "It thinks if its chat template knows how (enable_thinking); auto leaves that to the template. Tab in "
     "an "
     "empty line shows what it thought."},
    {"/seed", "", "[N|random]", "show or change the seed", "random", runs, do_seed},
    {"/reset", "", "", "all settings as they were at the start", "", runs, do_reset},
    {"/system", "", "[TEXT|@FILE|none]", "show or change the system prompt", "none %@files", waits,
     do_system},
    {"/persona", "", "[NAME|none]", "let somebody else answer, or list who can", "none %personas", waits,
     do_persona,
     "A persona is a system prompt with settings, in a file NAME.txt of the folder personas beside the "
     "config "
     "file: lines such as temp = 0.3, then a line ---, then the prompt. The conversation keeps it."},
    {"/prompt", "", "[NAME [WORDS]]", "send a text template with your words in it", "%prompts | %files", runs,
     do_prompt,
     "A template is a file NAME.txt of the folder prompts beside the config file. {{1}} in it is the first "
     "word, {{2*}} the second and all after it, {{*}} all of them, {{1:text}} has text where none is given; "
     "quotes make several words one."},
    {"/show", "", "WHAT", "model, params, prompt, context or stats", "model params prompt context stats",
     runs, do_show},
    {"/tokens", "", "[FROM]", "how likely each token of the last answer was", "", waits, do_tokens,
     "From token FROM on. The probabilities are those of the model, before temperature and the other "
     "settings."},
    {"/alt", "", "[N [K]]", "what else was likely in the last answer", "", waits, do_alt,
     "/alt lists the tokens that were not certain, /alt N the candidates for token N, and /alt N K goes on "
     "from candidate K there, as another answer."},
    {"/read", "", "[FILE|none]", "put a text file into your next turn", "none %files", runs, do_read,
     "Without FILE, what is in it; none takes everything out again. The file must be UTF-8 text and fit the "
     "context. @FILE in a message that is typed does the same for that message; Tab completes it."},
    {"/compact", "", "", "sum up the older turns to make room", "", waits, do_compact,
     "The model writes the summary. It becomes a new branch, with the last turns word for word; the old "
     "branch stays, and /goto goes back to it."},
    {"/private", "", "[on|off]", "store nothing from here on; off stores again", "on off", waits, do_private,
     "What was said before stays stored. Input history is not kept either."},
    {"/model", "", "[NAME|stop|back]", "go on with another model, or pick one", "%models", runs, do_model,
     "NAME may be a path. The conversation stays and is read anew by the other model. One that is not here "
     "is fetched while you "
     "go on, and stop ends that. back goes on with the model that made the last answer here."},
    {"/reopen", "", "[DEVICE]", "open the model again, here or on another device", "cpu", waits, do_reopen,
     "DEVICE is a number, a part of a name or cpu, as for --device. The conversation goes on there."},
    {"/export", "", "FORMAT [FILE]", "write this conversation to a file, or show it",
     "md json openai | %files", runs, do_export,
     "Of the formats md is Markdown for people, json has everything, openai the messages alone. The file "
     "must be new, or its name end with a !, which overwrites it."},
    {"/import", "", "FILE", "store the conversations of a file and go on with it", "%files", leaves,
     do_import, "It may be what /export wrote, or ShareGPT."},
    {"/record", "", "FILE|off", "record what the terminal shows; off ends it", "off %files", runs, do_record,
     "The file is an asciicast (v3), which asciinema plays. FILE! overwrites one that is there, and records "
     "in private."},
    {"/replay", "", "[ID] [SPEED]", "show a conversation again as its answers came", "instant %ids | instant",
     waits, do_replay,
     "Without ID this one. SPEED 2 is twice as fast as it was, and instant all at once; Esc ends it, and the "
     "conversation goes on there."},
    {"/copy", "", "[N|answer|pick]", "copy a code block or the answer", "answer pick", runs, do_copy,
     "N is the number at the code block. Without it you pick one where there are several: j and k or the "
     "arrows move, Enter copies, w writes it to a file. Where there is none, or with 'answer', it is the "
     "whole last answer. It goes to the terminal's clipboard (OSC 52) and to wl-copy, xclip, xsel or "
     "pbcopy."},
    {"/save", "", "N FILE", "write a code block to a file", " | %files", runs, do_save,
     "N is the number at the code block. FILE! overwrites a file that is there."},
    {"/quit", "/bye /exit", "", "end the program", "", runs, do_quit,
     "Where a message is not sent, an answer elsewhere is still being made, or something is not saved, it "
     "says so first; /quit again ends the program without."},
};

bool has_alias(const Command& command, std::string_view name) {
  std::istringstream aliases{command.aliases};
  std::string alias;
  while (aliases >> alias) {
    if (alias == name) return true;
  }
  return false;
}

}  // namespace

std::span<const Command> command_table() { return kCommands; }

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (name == command.name || has_alias(command, name)) return &command;
  }
  return nullptr;
}

}  // namespace bitnet
