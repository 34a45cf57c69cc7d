#include "storage.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "app/text/text_safe.h"
#include "refuse.h"

namespace bitnet {
namespace {

std::string messages_are(size_t count) {
  return fmt::format("{} message{} {}", count, count == 1 ? "" : "s", count == 1 ? "is" : "are");
}

}  // namespace

Storage::Storage(Store& file, StoredBranch& branch, Reporter& reporter)
    : file_(file), branch_(branch), reporter_(reporter), numbers_of_(file.file()) {
  if (!file.is_open()) begin_unsaved("the database could not be opened");
}

int64_t Storage::number_in_file() const {
  if (private_) return 0;
  if (!unsaved_) return number_;
  const auto known = unsaved_->conversations.find(number_);
  return known == unsaved_->conversations.end() ? 0 : known->second;
}

void Storage::open(int64_t number) {
  number_ = number;
  if (private_) private_ = memory_copy(nullptr);
}

std::string Storage::unsaved_text() const {
  const size_t count = unsaved_ ? unsaved_->count() : 0;
  return count == 0 ? "" : fmt::format("{} not saved: {}", messages_are(count), unsaved_->why);
}

std::string Storage::way_to_keep() const {
  const std::map<int64_t, size_t> counts = unsaved_ ? unsaved_->counts() : std::map<int64_t, size_t>();
  std::string numbers;
  for (const auto& [number, count] : counts)
    numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
  if (counts.size() > 1)
    return fmt::format("/open ID and then /export json FILE writes each of the conversations {} elsewhere",
                       numbers);
  if (counts.empty() || counts.begin()->first == number_in_database())
    return "/export json FILE writes this conversation elsewhere";
  return fmt::format("/open {} and then /export json FILE writes that conversation elsewhere", numbers);
}

// Such a command would only touch the copy in memory.
void Storage::refuse_while_unsaved(int64_t number) const {
  if (!unsaved_ || !unsaved_->conversations.contains(number)) return;
  refuse(fmt::format("the database cannot be written: {}", unsaved_->why));
}

void Storage::keep(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::database || unsaved_ || private_) throw;
    if (was_purged()) {
      lose_conversation();
    } else {
      lose_file(error.what());
    }
    write();
  }
}

bool Storage::was_purged() const try {
  return number_ != 0 && !file_.conversation(number_);
} catch (const Error&) {
  return false;
}

void Storage::lose_conversation() {
  purged_ = number_;
  private_ = memory_copy(nullptr);
  reporter_.front_end().error(fmt::format(
      "Conversation {} was deleted for good by another program: nothing more of it is stored.", purged_));
}

void Storage::lose_file(const std::string& why) {
  begin_unsaved(why);
  reporter_.front_end().error(
      fmt::format("{}. This conversation goes on, but nothing more of it is saved until the database can be "
                  "written again, which is tried with each turn. /export json FILE keeps it meanwhile.",
                  why));
}

void Storage::begin_unsaved(const std::string& why) {
  Unsaved unsaved;
  unsaved.why = why;
  unsaved.file = file_.file();
  // A private conversation is never in what is saved later.
  unsaved.memory = private_ ? Store::in_memory(Unsaved::kFirstNumber) : memory_copy(&unsaved);
  unsaved_ = std::move(unsaved);
}

// What is written from now on goes there.
std::unique_ptr<Store> Storage::memory_copy(Unsaved* unsaved) {
  std::unique_ptr<Store> memory = Store::in_memory(Unsaved::kFirstNumber);
  if (number_ != 0) branch_.copy_to(*memory, number_, unsaved);
  return memory;
}

// Tells which conversations have another number in the database than they had in memory.
std::string Storage::new_numbers(const Unsaved& saved) {
  constexpr size_t kMostTold = 5;
  const std::map<int64_t, int64_t> by_number(saved.conversations.begin(), saved.conversations.end());
  std::string text;
  size_t told = 0;
  for (const auto& [before, now] : by_number) {
    if (before == now) continue;
    if (before < Unsaved::kFirstNumber) renumbered_ = true;
    if (told++ < kMostTold) text += fmt::format(" Conversation {} has number {} now.", before, now);
  }
  if (told > kMostTold) text += fmt::format(" {} more have new numbers; /list shows them.", told - kMostTold);
  return text;
}

void Storage::note_file() {
  std::vector<uint64_t> file = file_.file();
  if (!numbers_of_.empty() && numbers_of_ != file) renumbered_ = true;
  numbers_of_ = std::move(file);
}

bool Storage::save_again() {
  if (!unsaved_) return true;
  size_t count = 0;
  try {
    file_.reopen();
    if (file_.file() != unsaved_->file) {  // in another file the ids mean nothing
      unsaved_->conversations.clear();
      unsaved_->messages.clear();
      unsaved_->file = file_.file();
    }
    count = unsaved_->count();
    file_.take_over(*unsaved_);
  } catch (const Error& error) {
    unsaved_->why = error.what();
    return false;
  }
  const Unsaved saved = std::move(*unsaved_);
  unsaved_.reset();
  note_file();
  int64_t& number = private_ ? public_number_ : number_;
  // One in which nothing was said, as an import may be, is not stored.
  const auto known = saved.conversations.find(number);
  number = known == saved.conversations.end() ? 0 : known->second;
  if (!private_) {
    const auto leaf = saved.messages.find(branch_.leaf().value_or(0));
    branch_.reload(leaf == saved.messages.end() ? std::nullopt : std::optional(leaf->second.id));
  }
  reporter_.front_end().notice(
      (count == 0 ? "The database can be written again: what you say is saved."
                  : fmt::format("The database can be written again: {} saved now that {} not.",
                                messages_are(count), count == 1 ? "was" : "were")) +
      new_numbers(saved));
  return true;
}

void Storage::look_after_database() {
  if (unsaved_) {
    save_again();
    return;
  }
  if (!file_.moved()) return;
  std::string news = fmt::format("The database {} was {} while this program ran.", printable(file_.path()),
                                 file_.is_gone() ? "removed" : "replaced");
  const int64_t number = private_ ? public_number_ : number_;
  std::optional<WholeConversation> whole;
  try {
    if (number != 0) whole = file_.whole(number);  // what was removed is open here still
  } catch (const Error&) {
    // Then what is shown is all there is of it.
  }
  store_anew(whole, std::move(news));
}

// Goes on in the file that is at the database's place now. `whole` is the conversation as the old one had it.
void Storage::store_anew(const std::optional<WholeConversation>& whole, std::string news) {
  int64_t& number = private_ ? public_number_ : number_;
  try {
    file_.reopen();
    note_file();
    if (whole) {
      number = file_.add_whole(*whole);
    } else if (private_) {
      number = 0;
    }
  } catch (const Error& error) {
    const std::string both = fmt::format("{} {}", news, error.what());
    if (!private_) return lose_file(both);
    number = 0;
    begin_unsaved(error.what());
    return reporter_.front_end().error(both);
  }
  if (number != 0 && !whole) {
    begin_unsaved(news);
    unsaved_->file = {};
    save_again();
  } else if (number != 0 && !private_) {
    branch_.reload(file_.conversation(number)->leaf);
  }
  news += " Saving goes on in the file that is there now";
  if (number != 0) {
    news += fmt::format(
        ", and this conversation is stored in it from its beginning, as number {0}; /delete {0} now takes it "
        "out",
        number);
  }
  reporter_.front_end().error(news + ".");
}

void Storage::go_private() {
  const int64_t left = number_;
  private_ = memory_copy(nullptr);
  public_number_ = left;
}

void Storage::forget_left(int64_t number) {
  if (public_number_ == number) public_number_ = 0;
}

int64_t Storage::leave_private() {
  private_.reset();
  number_ = purged_ = 0;
  return std::exchange(public_number_, 0);
}

}  // namespace bitnet
