#include "message_tree.h"

#include <algorithm>
#include <utility>

namespace bitnet {

MessageTree::MessageTree(std::vector<OutlineMessage> messages) : messages_(std::move(messages)) {
  index_.reserve(messages_.size());
  children_.reserve(messages_.size());
  for (size_t i = 0; i < messages_.size(); ++i) {
    index_[messages_[i].id] = i;
    children_[messages_[i].parent.value_or(0)].push_back(messages_[i].id);
  }
}

const OutlineMessage* MessageTree::find(int64_t id) const {
  const auto at = index_.find(id);
  return at == index_.end() ? nullptr : &messages_[at->second];
}

const OutlineMessage* MessageTree::numbered(int64_t n) const {
  return n < 1 || n > static_cast<int64_t>(messages_.size()) ? nullptr
                                                             : &messages_[static_cast<size_t>(n - 1)];
}

const std::vector<int64_t>& MessageTree::children(std::optional<int64_t> parent) const {
  static const std::vector<int64_t> kNone;
  const auto at = children_.find(parent.value_or(0));
  return at == children_.end() ? kNone : at->second;
}

MessageTree::Place MessageTree::place(int64_t id) const {
  const auto at = index_.find(id);
  if (at == index_.end()) return {};
  const std::vector<int64_t>& family = children(messages_[at->second].parent);
  const auto self = std::find(family.begin(), family.end(), id);
  return {static_cast<int64_t>(at->second + 1), static_cast<uint32_t>(self - family.begin() + 1),
          static_cast<uint32_t>(family.size())};
}

std::vector<int64_t> MessageTree::ends() const {
  std::vector<int64_t> ends;
  for (const OutlineMessage& message : messages_) {
    if (message.kept || children(message.id).empty()) ends.push_back(message.id);
  }
  return ends;
}

std::vector<int64_t> MessageTree::path(int64_t id) const {
  std::vector<int64_t> path;
  for (const OutlineMessage* at = find(id); at != nullptr; at = at->parent ? find(*at->parent) : nullptr) {
    path.push_back(at->id);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

int64_t MessageTree::answer_below(int64_t id) const {
  const OutlineMessage* at = find(id);
  while (at != nullptr && at->role != Role::assistant && !children(at->id).empty()) {
    at = find(children(at->id).back());
  }
  return at == nullptr ? id : at->id;
}

}  // namespace bitnet
