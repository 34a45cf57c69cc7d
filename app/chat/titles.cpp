#include "titles.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/text/text_safe.h"
#include "app/text/thinking.h"
#include "shared_words.h"

namespace bitnet {
namespace {

constexpr const char* kTitleRequest =
    "Give our conversation a title of two to six words. Write only the title, nothing else.";
constexpr uint32_t kMostTitleTokens = 40;
constexpr size_t kMostTitleBytes = 60;
constexpr size_t kMostMessages = 4;  // of a conversation that may still get one
constexpr size_t kOneTitleWordIn =
    2;  // of a title that speaks of the conversation, in how many its words are there
constexpr const char* kAround = " \t\r\n\"'`*#.“”„‚‘’«»";

struct Writing {
  Writing(const Tokenizer& tokenizer, const std::vector<int32_t>& prompt)
      : decoder(tokenizer, prompt.back()), text(opened_thought(tokenizer, prompt)) {}
  StreamDecoder decoder;
  std::string text;
};

bool can_have_one(const ChatParts& chat) {
  const std::vector<BranchMessage>& branch = chat.conversation.branch();
  return chat.settings.now.titles && chat.model && chat.storage.in_file() && branch.size() >= 2 &&
         branch.size() <= kMostMessages && branch.back().stored.finish == name_of(Finish::stop) &&
         chat.model->text->template_origin != TemplateOrigin::none && chat.conversation.title_is_first_line();
}

std::string said_in(const std::vector<BranchMessage>& branch) {
  std::string said;
  for (const BranchMessage& message : branch) said += message.stored.text + "\n";
  return said;
}

// The title in what the model wrote, on one line and without quotes; empty where it is none, because it is
// too long or speaks of something else than `said`.
std::string title_in(std::string_view written, std::string_view said) {
  std::string_view line = written.substr(0, written.find('\n', written.find_first_not_of(" \t\r\n")));
  const auto trim = [&] {
    const size_t begin = line.find_first_not_of(kAround);
    if (begin == std::string_view::npos) {
      line = {};
    } else {
      line = line.substr(begin, line.find_last_not_of(kAround) - begin + 1);
    }
  };
  trim();
  if (line.starts_with("Title:")) {
    line.remove_prefix(6);
    trim();
  }
  if (line.size() > kMostTitleBytes) return {};
  const SharedWords words = shared_words(line, said, "");
  if (words.shared == 0 || words.shared * kOneTitleWordIn < words.of) return {};
  return one_line(line);
}

}  // namespace

void wish_title(ChatParts& chat) {
  if (!can_have_one(chat)) return;
  std::vector<PromptMessage> messages = prompt_messages(chat.conversation.branch());
  messages.push_back({Role::user, kTitleRequest, {}});
  const Tokenizer& tokenizer = chat.model->text->tokenizer;
  DecodeJob job;
  try {
    job.tokens = build_prompt(*chat.model->text, chat.settings.now.system, messages,
                              chat.conversation.template_now(), /*think=*/false);
  } catch (const Error&) {
    return;  // a template that has no place for it
  }
  if (job.tokens.empty() || job.tokens.size() + kMostTitleTokens > chat.model->n_ctx) return;
  const auto writing = std::make_shared<Writing>(tokenizer, job.tokens);
  job.decode.max_tokens = kMostTitleTokens;
  const auto ends = tokenizer.end_of_turn();
  job.decode.stop_tokens.assign(ends.begin(), ends.end());
  job.keep = true;  // the timeline begins with the conversation, which is to be kept

  Task task;
  task.quiet = true;
  task.on_token = [writing](const SampledToken& token) { writing->text += writing->decoder.push(token.id); };
  task.on_finish = [writing, number = chat.storage.number_in_file(), &chat](const Finished& finished) {
    if (finished.reason != name_of(Finish::stop) || chat.storage.number_in_file() != number) return;
    const std::vector<BranchMessage>& branch = chat.conversation.branch();
    const std::string title = title_in(split_answer(writing->text).answer, said_in(branch));
    if (title.empty() || !chat.conversation.title_is_first_line()) return;
    chat.conversation.set_title(title);
    chat.reporter.send_status();
  };
  chat.tasks.start(std::move(job), std::move(task));
}

}  // namespace bitnet
