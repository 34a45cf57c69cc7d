#include "tests/support/fake_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace bitnet::fake {
namespace {

// GPT-2's byte alphabet: printable bytes stand for themselves, the others for code points from 256 on.
std::string byte_token(int byte) {
  const auto printable = [](int b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174; };
  int code = byte;
  if (!printable(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += printable(b) ? 0 : 1;
  }
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

class FakeEngine : public Engine {
 public:
  explicit FakeEngine(Script& script) : script_(script) {
    model_.architecture = "fake";
    model_.name = "Fake";
    model_.n_vocab = 259;
    model_.n_ctx_train = script.trained_for;
    model_.fingerprint = script.fingerprint;
    model_.old_fingerprint = "ffeeddccbbaa99887766554433221100";
    device_.name = "no device";
    device_.driver = "none";
    device_.arithmetic = script.arithmetic;
  }
  const ModelInfo& model() const override { return model_; }
  const DeviceInfo& device() const override { return device_; }
  Placement placement() const override { return script_.placement; }
  ExpertReads expert_reads() const override {
    const std::lock_guard lock(script_.mutex_);
    return script_.of_all_;
  }

 private:
  Script& script_;
  ModelInfo model_;
  DeviceInfo device_;
};

const char* const kTemplate =
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}<eot>"
    "{% elif m.role == 'system' %}[{{ m.content }}]{% else %}<usr>{{ m.content }}<eot>{% endif %}{% endfor "
    "%}";

class FakeSession : public Session {
 public:
  FakeSession(Script& script, uint32_t n_ctx) : script_(script), n_ctx_(n_ctx) {}

  uint32_t n_ctx() const override { return n_ctx_; }
  std::span<const int32_t> tokens() const override { return tokens_; }

  SyncResult sync(std::span<const int32_t> wanted, const SyncOptions& options) override {
    {
      const std::lock_guard lock(script_.mutex_);
      script_.prompts_.emplace_back(wanted.begin(), wanted.end());
    }
    cancelled_ = false;
    const auto differ = std::mismatch(tokens_.begin(), tokens_.end(), wanted.begin(), wanted.end());
    auto reused = static_cast<size_t>(differ.second - wanted.begin());
    reused = std::min(reused, wanted.size() - 1);
    const auto total = static_cast<uint32_t>(wanted.size() - reused);
    SyncResult result{static_cast<uint32_t>(reused), total, false};
    if (options.on_progress && !options.on_progress(total, total)) result.cancelled = true;
    tokens_.assign(wanted.begin(), wanted.end());
    for (size_t i = reused; i < wanted.size() && options.on_logits; ++i) {
      options.on_logits(static_cast<uint32_t>(i), logits_after(wanted[i]));
    }
    return result;
  }

  Finish decode(Sampler&, const DecodeOptions& options,
                const std::function<bool(const SampledToken&)>& on_token) override {
    cancelled_ = false;
    const std::string text = script_.next_answer();
    {
      const std::lock_guard lock(script_.mutex_);
      stats_.differing_pass = script_.differing_pass_;
      script_.of_all_.uses += script_.of_an_answer_.uses;
      script_.of_all_.hits += script_.of_an_answer_.hits;
      script_.of_all_.copies += script_.of_an_answer_.copies;
    }
    if (options.drafts) {
      const std::lock_guard lock(script_.mutex_);
      script_.learned_ = options.drafts->learned();
      options.drafts->follow(tokens_);
      std::array<int32_t, Drafts::kMost> guess{};
      script_.guessed_.assign(guess.data(), guess.data() + options.drafts->guess(guess).n);
    }
    for (int made = 0;; ++made) {
      if (tokens_.size() >= n_ctx_) return Finish::context;
      if (options.max_tokens != 0 && made == static_cast<int>(options.max_tokens)) return Finish::length;
      if (!script_.pass_gate(made, [this] { return cancelled_.load(); })) return Finish::interrupted;
      {
        const std::lock_guard lock(script_.mutex_);
        if (script_.numeric_after_ == made) return Finish::numeric;
        if (script_.lose_after_ == made) throw Error(ErrorKind::device, "the device was lost");
      }
      if (made == static_cast<int>(text.size())) return Finish::stop;
      const auto id = static_cast<int32_t>(static_cast<uint8_t>(text[made]));
      tokens_.push_back(id);
      if (!on_token({id, -0.5F})) return Finish::interrupted;
    }
  }

  std::span<const float> logits() override { return logits_after(tokens_.back()); }
  void cancel() noexcept override {
    cancelled_ = true;
    script_.changed_.notify_all();
  }
  uint64_t save_bytes() const override { return tokens_.size() * sizeof(int32_t); }
  std::vector<std::byte> save() override {
    const auto bytes = std::as_bytes(std::span(tokens_));
    return {bytes.begin(), bytes.end()};
  }
  void load(std::span<const std::byte> payload) override {
    tokens_.clear();
    if (payload.empty() || payload.size() % sizeof(int32_t) != 0) throw Error(ErrorKind::runtime, "damaged");
    tokens_.resize(payload.size() / sizeof(int32_t));
    std::memcpy(tokens_.data(), payload.data(), payload.size());
  }
  SessionStats stats() const override { return stats_; }

 private:
  Script& script_;
  // The header says at kNextLogit what these are.
  std::span<const float> logits_after(int32_t token) {
    logits_.assign(259, 0.0F);
    logits_[(token + 1) % 259] = kNextLogit;
    logits_[(token + 2) % 259] = kSecondLogit;
    return logits_;
  }

  uint32_t n_ctx_;
  SessionStats stats_;
  std::vector<float> logits_;
  std::vector<int32_t> tokens_;
  std::atomic<bool> cancelled_{false};
};

void Script::answer(std::string text) {
  const std::lock_guard lock(mutex_);
  answers_.push_back(std::move(text));
}

void Script::hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
}

void Script::hold_after(int tokens) {
  const std::lock_guard lock(mutex_);
  hold_after_ = tokens;
}

// A test that has seen the last token before the gate may be here before the worker is at the gate.
void Script::release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
    hold_after_ = -1;
  }
  changed_.notify_all();
}

void Script::wait_until_held() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_; });
}

void Script::lose_device_after(int tokens) {
  const std::lock_guard lock(mutex_);
  lose_after_ = tokens;
}

void Script::differ_in_passes_of(uint32_t tokens) {
  const std::lock_guard lock(mutex_);
  differing_pass_ = tokens;
}

void Script::numeric_after(int tokens) {
  const std::lock_guard lock(mutex_);
  numeric_after_ = tokens;
}

void Script::no_room_on(std::string device) {
  const std::lock_guard lock(mutex_);
  no_room_on_ = std::move(device);
}

void Script::wrong_device(bool wrong) {
  const std::lock_guard lock(mutex_);
  wrong_device_ = wrong;
}

void Script::hold_loading(bool hold) {
  {
    const std::lock_guard lock(mutex_);
    loading_held_ = hold;
  }
  changed_.notify_all();
}

void Script::read_experts(const ExpertReads& reads) {
  const std::lock_guard lock(mutex_);
  of_an_answer_ = reads;
}

void Script::wish(ModelSettings wishes) {
  const std::lock_guard lock(mutex_);
  wishes_ = std::move(wishes);
}

std::vector<std::vector<int32_t>> Script::prompts() {
  const std::lock_guard lock(mutex_);
  return prompts_;
}

size_t Script::learned() {
  const std::lock_guard lock(mutex_);
  return learned_;
}

std::string Script::guessed() {
  const std::lock_guard lock(mutex_);
  return guessed_;
}

int Script::opened() {
  const std::lock_guard lock(mutex_);
  return opened_;
}

std::string Script::device() {
  const std::lock_guard lock(mutex_);
  return device_;
}

std::string Script::next_answer() {
  const std::lock_guard lock(mutex_);
  return next_ < answers_.size() ? answers_[next_++] : "ok";
}

bool Script::pass_gate(int made, const std::function<bool()>& cancelled) {
  std::unique_lock lock(mutex_);
  if (made == hold_after_) held_ = true;
  while (held_ && !cancelled()) {
    waiting_ = true;
    changed_.notify_all();
    // cancel() may come from a signal handler and so takes no lock: look again now and then.
    changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
  waiting_ = false;
  return !cancelled();
}

std::shared_ptr<ModelText> model_text(const std::string& chat_template, bool add_bos) {
  Vocabulary v;
  v.model = "gpt2";
  v.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) v.tokens.push_back(byte_token(byte));
  v.tokens.insert(v.tokens.end(), {"<bos>", "<eot>", "<usr>"});
  v.types.assign(256, 1);
  v.types.insert(v.types.end(), {3, 3, 3});
  v.bos = kBos;
  v.eos = kEot;
  v.add_bos = add_bos;
  return std::make_shared<ModelText>("fake.gguf", v, ChatTemplate(chat_template, "fake"));
}

OpenModel opener(Script& script, uint32_t n_ctx, std::string chat_template, bool add_bos) {
  return [&script, n_ctx, chat_template, add_bos](const std::function<bool(double)>& on_progress,
                                                  const std::string& device) {
    {
      std::unique_lock lock(script.mutex_);
      script.device_ = device;
      while (script.loading_held_) {
        lock.unlock();
        if (!on_progress(0.5)) throw Error(ErrorKind::runtime, "loading was given up");
        lock.lock();
        script.changed_.wait_for(lock, std::chrono::milliseconds(5));
      }
      ++script.opened_;
      if (script.wrong_device_ || device == script.no_room_on_)
        throw Error(ErrorKind::device, "no usable device");
    }
    LoadedModel model;
    const auto text = model_text(chat_template, add_bos);
    {
      const std::lock_guard lock(script.mutex_);
      text->wishes = script.wishes_;
    }
    model.text = text;
    model.engine = std::make_unique<FakeEngine>(script);
    model.create_session = [&script](uint32_t size) -> std::unique_ptr<Session> {
      const uint32_t most = script.trained_for;
      if (size > most) throw Error(ErrorKind::usage, "more than the model was trained for");
      return std::make_unique<FakeSession>(script, size == 0 ? most : size);
    };
    model.session = model.create_session(n_ctx);
    return model;
  };
}

std::string text_of(const std::vector<int32_t>& ids) { return model_text()->tokenizer.decode(ids, true); }

void FrontEndLog::transcript(const std::vector<ShownMessage>& messages) {
  shown = messages;
  log += fmt::format("transcript {}\n", messages.size());
}
void FrontEndLog::message(const ShownMessage& message) {
  if (message.role == Role::assistant) {
    tokens = 0;
    thought.clear();
  }
  shown.push_back(message);
  log += fmt::format("{}: {}\n", name_of(message.role), message.text);
}
void FrontEndLog::answer_text(std::string_view text, int32_t token_id, float) {
  shown.back().text += text;
  if (token_id >= 0) ++tokens;
}
void FrontEndLog::thought_text(std::string_view text, int32_t token_id, float) {
  thought += text;
  if (token_id >= 0) ++tokens;
}
void FrontEndLog::answer_end(const ShownMessage& answer, const Usage& usage) {
  shown.back() = answer;
  last_usage = usage;
  log += fmt::format("answer: {} ({})\n", answer.text, answer.finish);
}
void FrontEndLog::command_output(std::string_view command, std::string_view text) {
  last_output = text;
  log += fmt::format("{}: {}\n", command, text);
}
void FrontEndLog::notice(std::string_view text) { log += fmt::format("notice: {}\n", text); }
void FrontEndLog::error(std::string_view text) {
  errors.emplace_back(text);
  log += fmt::format("error: {}\n", text);
}
void FrontEndLog::status(const Status& status) { last_status = status; }
bool FrontEndLog::copy(std::string_view text) {
  if (has_hands) copied.emplace_back(text);
  return has_hands;
}

bool FrontEndLog::choose(Choices wanted) {
  if (has_hands) choices = std::move(wanted);
  return has_hands;
}

void FrontEndLog::return_input(std::string_view text) { returned.emplace_back(text); }

}  // namespace bitnet::fake
