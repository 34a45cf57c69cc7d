// The way from one model to another: which one is wanted, and one that is being pulled for it.
//
// A model that is here takes the place of the one that answers as soon as nothing else runs. One that is not
// is pulled first, beside the conversation, and wanted once it is there.
//
// Thread rule: it lives on the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/base/descriptor.h"
#include "app/chat/chat.h"
#include "app/model/models.h"
#include "app/pull/background_pull.h"
#include "model_state.h"
#include "reporter.h"
#include "settings.h"

namespace bitnet {

class ModelSwitch {
 public:
  // All but `source` must live as long as it does.
  ModelSwitch(ModelSource source, const SettingsInUse& settings, ModelState& model, Worker& worker,
              Reporter& reporter);
  ModelSwitch(const ModelSwitch&) = delete;
  ModelSwitch& operator=(const ModelSwitch&) = delete;

  const ModelOptions& options() const { return source_.options; }
  std::string name_of(const std::string& path) const;
  std::string running() const;  // the path of the model that answers; empty while none does
  bool is_running(const std::string& path) const;

  // Switches to the model at this path, once advance() finds that nothing runs.
  void want(const std::string& path);
  bool wants() const { return wanted_.has_value(); }
  bool forget_wanted();  // false: none was wanted
  void advance(bool busy);

  void pull(const std::string& name);  // throws Error(usage) where one is being pulled
  bool pulls() const { return pull_ != nullptr; }
  bool stop_pull();                         // false: none is being pulled
  int wake_fd() const { return wake_.fd; }  // readable when the pull has something to say
  void take_pull();                         // what it says
  void describe(Status& status) const;

  // What the worker said. Returns whether the model was switched to.
  bool loaded(const Loaded& event);
  // Why it could not be, for people; empty: it was no switch that failed.
  std::string not_opened();
  // The ChatSettings::ctx with which the worker opens its model, also where that is opened again.
  uint32_t opened_with() const { return opened_with_.value_or(settings_.defaults.ctx); }

 private:
  OpenModel open(const ModelOptions& options) const;
  void begin(const std::string& path);
  void end_pull(const BackgroundPull::State& state);

  ModelSource source_;
  const SettingsInUse& settings_;
  ModelState& model_;
  Worker& worker_;
  Reporter& reporter_;
  const Descriptor wake_;
  std::string first_path_;             // of the model that the program began with; empty: not known yet
  std::string running_;                // of the model that answered last
  std::optional<std::string> wanted_;  // a path
  std::string switching_to_;           // a path; empty: nothing is on its way
  uint32_t switching_with_ = 0;        // ctx of that model
  std::optional<uint32_t> opened_with_;  // empty: the model that the program began with was never left
  std::unique_ptr<BackgroundPull> pull_;
};

}  // namespace bitnet
