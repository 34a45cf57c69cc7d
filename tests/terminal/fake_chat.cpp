// The real screen over a chat without a model, for tests that must know the words of an answer.
//
// It "loads" for FAKE_LOAD_MS milliseconds, and until there is a file FAKE_LOAD_UNTIL, and answers with a
// word every FAKE_WORD_MS. The answer to "count N" is N numbered lines; to "markdown", "rich" and "unicode" a
// sample; to "forever" one without end; to "line N" one line of N characters; to "marks N" a letter and an
// emoji with N combining marks each; to "bytes" every byte there is; to "think" a thought and a word, and to
// "ponder" a thought without end. "die" calls abort(), "overflow" calls itself without end, and "bus" lets
// SIGBUS hit another thread while this one draws without a pause. Any other text is its own answer. With
// FAKE_PIECE, words come in pieces of so many bytes. An answer that is stopped ends FAKE_STOP_WORDS words
// later. With FAKE_STDERR=1 it writes to stderr now and then, as drivers do. FAKE_KEYS holds the lines of a
// keys file, and FAKE_MOUSE=1 takes clicks. /copy [N] copies from the last answer, /open offers forty titles,
// and /save FILE writes the last turn.
#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "app/chat/chat.h"
#include "app/screen/ui_screen.h"
#include "app/view/markdown.h"

namespace bitnet {

const char* const kMarkdown =
    "# A heading\nSome **bold**, some *slanted* and some `code` in a paragraph that is long enough to be "
    "broken.\n"
    "\n- a first item\n- a second one, with more words than fit into one row of a narrow screen\n\n"
    "```cpp\nint main() {\n  return 0;  // done\n}\n```\n> quoted words\n\n1. one\n2. two\n";
const char* const kRich =
    "## Nested\n1. First, with ~~old~~ new words\n   - inner item that is long enough to be broken in narrow "
    "screens\n"
    "     - deeper\n   ```sh\n   make -j2 \\\n     all\n   ```\n2. Second, see [the "
    "manual](https://example.org/manual)\n\n"
    "| City | Country | People |\n|:-----|:-------:|-------:|\n| 東京 | Japan | 14000000 |\n| São Paulo | "
    "Brasil "
    "🇧🇷 | 12400000 |\n| Kraków | `PL` | 804000 |\n\n> A quote\n> > within a quote\n\n---\n- [x] done\n- [ ] "
    "open\n";
const char* const kUnicode =
    "CJK 漢字かな|\nVS16 \u2764\ufe0f|\nZWJ 👨\u200d👩\u200d👧\u200d👦|\nskin 👍🏽|\nflag "
    "🇩🇪|\nmarks "
    "e\u0301a\u0308|\n"
    "hebrew שלום|\nescape \x1b[31mred\x1b[0m|\nbidi \u202Eabc|\n";

// Recurses until the stack overflows; the array and the sum keep the compiler from making a loop of it.
int overflow(int depth) {
  volatile char frame[1000] = {};
  frame[depth % 1000] = 1;
  return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

int number_from(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

class FakeChat : public Chat {
 public:
  explicit FakeChat(FrontEnd& front_end) : front_end_(front_end) {
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    set_timer(10);
    status_.model = "fake-model";
    status_.device = "no device";
    status_.context_limit = 2048;
  }
  ~FakeChat() override { ::close(timer_); }

  void submit(std::string_view text) override {
    if (text == "/quit") {
      quit_ = true;
    } else if (text == "/help") {
      front_end_.command_output(
          "help",
          "/help                what there is to type, and what it is good for\n"
          "/open [ID]           go on with a stored conversation; without ID, pick one\n"
          "/set [NAME [VALUE]]  show or change how answers are chosen\n/quit    leave");
    } else if (text.starts_with("/save ")) {
      const std::string file(text.substr(6)), unfinished = file + ".tmp";
      std::ofstream(unfinished) << turn_;
      std::rename(unfinished.c_str(), file.c_str());
      front_end_.notice("Saved.");
    } else if (text.starts_with("/copy")) {
      copy(text.size() > 6 ? static_cast<size_t>(std::atoi(std::string(text.substr(6)).c_str())) : 0);
    } else if (text == "/open") {
      open();
    } else if (text.starts_with("/")) {
      front_end_.error(fmt::format("there is no command {}", text));
    } else if (loading_ || answering_) {
      status_.queued.emplace_back(text);
      front_end_.status(status_);
    } else {
      begin(std::string(text));
    }
  }

  void interrupt() override {
    while (take_back()) {
    }
    stop_in_ = number_from("FAKE_STOP_WORDS", 0);
    if (answering_ && stop_in_ == 0) end("interrupted");
  }

  bool take_back() override {
    if (status_.queued.empty()) return false;
    front_end_.return_input(status_.queued.back());
    status_.queued.pop_back();
    front_end_.status(status_);
    return true;
  }

  void interrupt_after(uint32_t) override {}
  int wake_fd() const override { return timer_; }
  void new_conversation() override {}
  void open_conversation(int64_t) override {}
  void show_all() override {
    front_end_.transcript({});
    front_end_.status(status_);
  }
  bool is_command(std::string_view typed) const override {
    return typed.starts_with('/') && !typed.starts_with("//");
  }
  bool busy() const override { return answering_ || !status_.queued.empty(); }
  bool loading() const override { return loading_; }
  bool quit_requested() const override { return quit_; }
  std::string close() override { return {}; }
  int64_t conversation() const override { return 0; }
  std::optional<std::string> take_error() override { return {}; }
  const std::optional<Error>& failure() const override { return failure_; }
  std::vector<std::string> complete(std::string_view line) override {
    std::vector<std::string> out;
    for (const char* command : {"/help", "/quit", "/set", "/show"}) {
      if (std::string_view(command).starts_with(line)) out.emplace_back(command);
    }
    return out;
  }

  void handle_events() override {
    uint64_t count = 0;
    if (read(timer_, &count, sizeof count) < 0) return;
    if (std::getenv("FAKE_STDERR") != nullptr) std::fprintf(stderr, "driver: something to say\n");
    if (loading_) {
      loaded_ms_ += 10;
      const int total = std::max(number_from("FAKE_LOAD_MS", 100), 10);
      status_.progress = std::min(1.0, static_cast<double>(loaded_ms_) / total);
      const char* until = std::getenv("FAKE_LOAD_UNTIL");
      loading_ = loaded_ms_ < total || (until != nullptr && access(until, F_OK) != 0);
      if (!loading_) {
        status_.state = ChatState::idle;
        set_timer(0);
      }
      front_end_.status(status_);
      if (!loading_) begin_next();
      return;
    }
    if (!answering_) return;
    const size_t space = rest_.find_first_of(" \n", 1);
    size_t length = std::min(space, std::min(piece_, rest_.size()));
    while (length < rest_.size() && (static_cast<unsigned char>(rest_[length]) & 0xC0) == 0x80) ++length;
    const std::string word = rest_.substr(0, length);
    rest_.erase(0, word.size());
    if (rest_.empty() && forever_) rest_ = word;
    if (thought_left_ > 0) {
      front_end_.thought_text(word, 1, 0);
      --thought_left_;
      ++answer_.thought_tokens;
    } else {
      front_end_.answer_text(word, 1, 0);
      answer_.text += word;
    }
    status_.thinks = thought_left_ > 0;
    status_.thought_tokens = answer_.thought_tokens;
    ++status_.context_used;
    status_.tokens_per_second = 1000.0 / number_from("FAKE_WORD_MS", 5);
    front_end_.status(status_);
    if (rest_.empty()) return end("stop");
    if (stop_in_ > 0 && --stop_in_ == 0) end("interrupted");
  }

 private:
  void copy(size_t number) {
    const std::vector<CodeBlock> blocks = code_blocks(answer_.text);
    if (number == 0) number = blocks.size();
    front_end_.copy(blocks.empty() ? answer_.text : blocks.at(number - 1).text);
    front_end_.notice("Copied.");
  }

  void open() {
    Choices choices;
    choices.title = "Open a conversation";
    choices.find = [](std::string_view filter) {
      std::vector<Choice> found;
      for (int i = 1; i <= 40; ++i) {
        const std::string title =
            fmt::format("talk {} about {}", i, i % 3 == 0 ? "漢字 and 😀" : "the weather\x1b[31m");
        if (title.find(filter) != std::string::npos)
          found.push_back({i, title, fmt::format("{} messages", i)});
      }
      return found;
    };
    choices.chosen = [this](int64_t id) { front_end_.notice(fmt::format("opened {}", id)); };
    front_end_.choose(std::move(choices));
  }

  void set_timer(int ms) {
    itimerspec spec = {};
    spec.it_interval.tv_nsec = spec.it_value.tv_nsec = ms * 1'000'000L;
    timerfd_settime(timer_, 0, &spec, nullptr);
  }

  void begin(const std::string& text) {
    if (text == "die") std::abort();
    if (text == "overflow") std::exit(overflow(1));
    if (text == "bus") {
      std::thread([] { raise(SIGBUS); }).detach();
      while (write(STDOUT_FILENO, "drawn\r\n", 7) > 0) {
      }
    }
    turn_ = text;
    front_end_.message({1, Role::user, text, ""});
    answer_ = {2, Role::assistant, "", ""};
    front_end_.message(answer_);
    forever_ = text == "forever" || text == "ponder";
    rest_ = text;
    if (text.starts_with("count ")) {
      rest_.clear();
      for (int i = 1; i <= std::atoi(text.c_str() + 6); ++i) rest_ += fmt::format("number {}\n", i);
    }
    if (text.starts_with("line "))
      rest_ = std::string(std::strtoul(text.c_str() + 5, nullptr, 10), 'x') + "the end";
    if (text.starts_with("marks ")) {
      std::string marks;
      for (int i = std::atoi(text.c_str() + 6); i > 0; --i) marks += "\u0301";
      rest_ = "a" + marks + " \u2764\ufe0f" + marks + " the end";
    }
    if (text == "bytes") {
      rest_.clear();
      for (int byte = 0; byte < 256; ++byte) rest_ += static_cast<char>(byte);
      rest_ += "\xf0\x9f the end";
    }
    thought_left_ = text == "ponder" ? 1 << 30 : text == "think" ? 11 : 0;
    if (text == "ponder") rest_ = " again";
    if (text == "think") rest_ = "Two and\ntwo are four.\nThat is what\nI was told. Four.";
    if (text == "markdown") rest_ = kMarkdown;
    if (text == "unicode") rest_ = kUnicode;
    if (text == "rich") rest_ = kRich;
    if (text == "forever") rest_ = " again";
    answering_ = true;
    status_.state = ChatState::answering;
    front_end_.status(status_);
    set_timer(number_from("FAKE_WORD_MS", 5));
  }

  void end(const char* finish) {
    set_timer(0);
    answering_ = false;
    answer_.finish = finish;
    front_end_.answer_end(answer_, {});
    status_.state = ChatState::idle;
    front_end_.status(status_);
    begin_next();
  }

  void begin_next() {
    if (status_.queued.empty()) return;
    const std::string next = status_.queued.front();
    status_.queued.erase(status_.queued.begin());
    begin(next);
  }

  FrontEnd& front_end_;
  Status status_;
  int timer_ = -1;
  int loaded_ms_ = 0;
  bool loading_ = true;
  bool answering_ = false;
  bool quit_ = false;
  bool forever_ = false;
  int thought_left_ = 0;  // words of the thought that are to come
  int stop_in_ = 0;       // words until the interrupted answer ends
  const size_t piece_ = static_cast<size_t>(number_from("FAKE_PIECE", 1 << 30));
  std::string turn_;
  std::string rest_;
  ShownMessage answer_;
  const std::optional<Error> failure_;
};

}  // namespace bitnet

int main() {
  using namespace bitnet;
  if (!screen_usable()) {
    std::puts("no screen here");
    return 1;
  }
  const char* state = std::getenv("XDG_STATE_HOME");
  ScreenOptions options;
  const char* theme = std::getenv("FAKE_THEME");
  options.theme = std::getenv("NO_COLOR") != nullptr ? "mono" : theme == nullptr ? "" : theme;
  if (state != nullptr) options.state_folder = std::string(state) + "/bitnet-chat";
  options.mouse = std::getenv("FAKE_MOUSE") != nullptr;
  if (const char* keys = std::getenv("FAKE_KEYS")) options.keymap.read(keys, "FAKE_KEYS");
  EventLoop loop;
  int code = 1;
  {
    ScreenFrontEnd screen(loop, options);
    FakeChat chat(screen);
    code = screen.run(chat, nullptr, [] {});
  }
  return code;
}
