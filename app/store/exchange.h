// Conversations as files: they are written in three forms, and read from these and from ShareGPT's.
//
// Thread rule: plain values and free functions; any thread.
//
//   md      the branch that is shown, for people. "# title", then sections "## System" (the system prompt),
//           "## User", "## Assistant" and "## System message", each followed by an empty line, the exact text
//           and an empty line; an answer that did not end by itself is followed by its reason, "*(length)*".
//           A line of a text that looks like one of these has a backslash put before it. What a model thought
//           before it answered stands in a <details> block, where its text has the usual form (thinking.h).
//   json    everything: the tree, the turns with their settings, the tokens. For this program.
//   openai  the branch that is shown as {"messages": [{"role", "content"}]}, with "reasoning_content" of such
//           an answer.
//   ShareGPT is read only: {"conversations": [{"from": "human", "value"}]}, mostly many in one file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store.h"

namespace bitnet {

enum class Pipes;  // app/text/text_file.h

enum class ChatFormat { markdown, json, openai };
ChatFormat chat_format(std::string_view name);  // "md", "json", "openai"; throws Error(usage) for others

// md and openai need only the branch that is shown, so `whole` may hold nothing else. Text that is no UTF-8
// becomes U+FFFD in json and openai.
std::string write_chat(const WholeConversation& whole, ChatFormat format);

// The conversations of a file in any of the forms. `name` is for messages. Throws Error(runtime) that says
// where the file is wrong, what was wanted and what was found.
std::vector<WholeConversation> read_chats(std::string_view text, const std::string& name);

// Stores the conversations of a file ("-": standard input) and returns their ids. Throws as read_chats and
// read_file do.
std::vector<int64_t> import_file(Store& store, const std::string& file, Pipes pipes);

// exchange_markdown.cpp
std::string write_markdown(const WholeConversation& whole);
WholeConversation read_markdown(std::string_view text);

// exchange_json.cpp
std::vector<WholeConversation> read_json_chats(std::string_view text);

// The messages from the first to the leaf, in order. Requires a checked conversation.
std::vector<const WholeMessage*> shown_branch(const WholeConversation& whole);

// The first line of a text, not too long: what a conversation is called until the person names it.
std::string title_from(std::string_view text);
std::string title_of(const WholeConversation& whole);  // that of its first turn

}  // namespace bitnet
