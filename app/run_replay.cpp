#include "run_replay.h"

#include "app/base/event_loop.h"
#include "app/chat/listing.h"
#include "app/model/model_open.h"
#include "app/plain/ui_line.h"
#include "app/script/replay.h"
#include "engine/open_model.h"
#include "recorded.h"

namespace bitnet {
namespace {

// Returns the model of the last answer that was made here. The name that came with an imported answer is a
// stranger's word, so that file is not opened.
std::string model_that_answered(Store& store, const StoredConversation& row) {
  std::string model;
  for (const StoredMessage& message : store.branch(row.leaf)) {
    for (const StoredTurn& turn : store.turns(message.id)) {
      if (!turn.model.empty() && !turn.imported) model = turn.model;
    }
  }
  return model;
}

// Returns the tokenizer of a model, or nullptr if its file cannot be read any more.
std::shared_ptr<const ModelText> text_for_replay(const std::string& model) {
  try {
    return model.empty() ? nullptr : read_model_text(*open_model(model), "");
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

int run_replay(const Options& options, Store& store, Output& out, Output& err) {
  const StoredConversation row = conversation_to_open(store, *options.conversation);
  if (options.verify) {
    Options with_model = options;
    if (with_model.model.empty()) with_model.model = model_that_answered(store, row);
    LoadedModel model = opener_for(with_model)([](double) { return true; }, "");
    out.write(verify_replay(store, *options.conversation, model));
    return 0;
  }
  EventLoop loop;
  LineFrontEnd front({.record_input = options.record_input}, out, err);
  if (!options.record.empty()) front.record(options.record, named_rules(options));
  const auto text = text_for_replay(model_that_answered(store, row));
  return with_recording(front, [&] {
    return replay(store, *options.conversation, options.speed, text ? &text->tokenizer : nullptr, loop, front,
                  [&] { return front.output_closed(); });
  });
}

}  // namespace bitnet
