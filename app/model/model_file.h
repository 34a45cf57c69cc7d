// Reads what the chat needs from a GGUF file (tokenizer, template, wishes), and finds the file.
//
// Thread rule: free functions and immutable values; any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/gguf.h"
#include "model_settings.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {

// All that a model file says about text, and how it wants answers to be chosen. Immutable; shared by the
// loop's thread and the worker's.
struct ModelText {
  ModelText(std::string path, Vocabulary vocabulary, ChatTemplate chat_template);

  std::string path;  // of the model file
  Tokenizer tokenizer;
  ChatTemplate chat_template;
  TemplateOrigin template_origin = TemplateOrigin::file;
  std::string template_file;  // --chat-template; empty: the model's own template is used
  std::string bos_text;       // empty where the vocabulary has none
  std::string eos_text;
  ModelSettings wishes;
};

// Throws Error(model) that names the file and the key where something is missing, has the wrong type or a
// length that does not fit the rest.
Vocabulary read_vocabulary(const Checkpoint& file);

// Makes a tokenizer of what read_vocabulary gives. Its errors name the file too.
std::unique_ptr<const Tokenizer> read_tokenizer(const Checkpoint& file);

// A sentence about the tensors of the file that nothing here reads; empty where there are none.
std::string warning_about(const ModelInfo& model);

// Likewise, where the file's pre-tokenizer is none that we know.
std::string warning_about(const Tokenizer& tokenizer);

const char* name_of(Activation activation);  // for people: "relu2"

// How many weights the projections have, for people: "2084044800 ternary", "1 ternary and 2 dense".
std::string count_weights(const ModelInfo& model);

// Where the template comes from and its form, for people: "the file's own (ChatML)".
std::string describe_template(const ModelText& text);

// `template_file` (--chat-template) wins over the file's template; empty = the file's.
std::shared_ptr<const ModelText> read_model_text(const Checkpoint& file, const std::string& template_file);

// `given`, else $BITNET_CHAT_MODEL; empty: the bundled model.
std::string named_model(const std::string& given);

// Where the bundled model would be: ../share/bitnet-chat/bitnet-chat.gguf from the program.
std::string bundled_model();

// The path of named_model(): a file, or the name of a model that is here (models.h) or was pulled (pulled.h),
// where no file has it; where it is empty, that of the bundled model. Throws Error(model) that says where it
// looked.
std::string find_model(const std::string& given, std::span<const std::string> folders = {});

}  // namespace bitnet
