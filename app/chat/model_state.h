// The model as the loop's thread sees it: loading, loaded, or failed.
//
// Thread rule: it lives on the loop's thread. The engine itself belongs to the worker's thread (worker.h).
#pragma once

#include <optional>
#include <utility>

#include "app/model/worker.h"
#include "engine/error.h"
#include "refuse.h"

namespace bitnet {

class ModelState {
 public:
  // True while the model is loaded; only then may it be looked at with * and ->.
  explicit operator bool() const { return loaded_.has_value(); }
  const Loaded& operator*() const { return *loaded_; }
  const Loaded* operator->() const { return &*loaded_; }

  bool loading() const { return !loaded_ && !failure_; }
  const std::optional<Error>& failure() const { return failure_; }  // why the model cannot be used
  // Throws Error(usage) where the model is not loaded.
  void require() const {
    if (!loaded_) refuse("the model is not loaded");
  }

  void set_loaded(Loaded loaded) { loaded_ = std::move(loaded); }
  void set_context(uint32_t n_ctx) {  // tokens
    if (loaded_) loaded_->n_ctx = n_ctx;
  }
  void set_failed(Error why) {
    failure_ = std::move(why);
    loaded_.reset();
  }
  void set_loading() {  // the worker opens it once more
    failure_.reset();
    loaded_.reset();
  }

 private:
  std::optional<Loaded> loaded_;
  std::optional<Error> failure_;
};

}  // namespace bitnet
