#include "expert_places.h"

#include <utility>

#include "engine/kernel_operands.h"

namespace bitnet::vk {
namespace {

VkSemaphore make_semaphore(const Device& device) {
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type};
  VkSemaphore semaphore = VK_NULL_HANDLE;
  VK_CHECK(vkCreateSemaphore(device.handle(), &info, nullptr, &semaphore));
  return semaphore;
}

// Submits commands that wait until one semaphore has reached a value, and then set another one.
void submit(VkQueue queue, VkCommandBuffer commands, VkSemaphore wait, uint64_t until, VkSemaphore signal,
            uint64_t value) {
  constexpr VkPipelineStageFlags kStage = VK_PIPELINE_STAGE_TRANSFER_BIT;
  VkTimelineSemaphoreSubmitInfo values{VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO};
  values.waitSemaphoreValueCount = values.signalSemaphoreValueCount = 1;
  values.pWaitSemaphoreValues = &until;
  values.pSignalSemaphoreValues = &value;
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO, &values};
  info.waitSemaphoreCount = info.signalSemaphoreCount = info.commandBufferCount = 1;
  info.pWaitSemaphores = &wait;
  info.pWaitDstStageMask = &kStage;
  info.pCommandBuffers = &commands;
  info.pSignalSemaphores = &signal;
  VK_CHECK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
}

void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags writes) {
  const VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr, writes,
                               VK_ACCESS_TRANSFER_WRITE_BIT};
  vkCmdPipelineBarrier(commands, from, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

}  // namespace

ExpertPlaces::ExpertPlaces(const Device& device, Transfer& transfer, bool poison)
    : device_(device), transfer_(transfer), poison_(poison) {}

ExpertPlaces::~ExpertPlaces() {
  device_.wait_for_queues();
  vkDestroyCommandPool(device_.handle(), pool_, nullptr);
  for (const VkSemaphore semaphore : {written_, copied_})
    vkDestroySemaphore(device_.handle(), semaphore, nullptr);
}

BufferPtr ExpertPlaces::addresses_of(const Matrix& w) {
  if (!device_.has_addresses() || (w.layout != Layout::groups && w.layout != Layout::blocks)) return nullptr;
  const bool groups = w.layout == Layout::groups;
  const std::array<BufferPtr, 4> buffers = {
      groups ? w.codes : w.parts[0].codes, groups ? w.scales : w.parts[0].scales,
      groups ? nullptr : w.parts[1].codes, groups ? nullptr : w.parts[1].scales};
  const bool in_host = vulkan(*buffers[0]).is_in_host();
  auto table = std::make_shared<VulkanBuffer>(device_, w.n_expert * sizeof(Addresses), BufferUse::weights);
  Cached cached{w.n_expert, table, {}, {}};
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i]) cached.sources[i] = {buffers[i], nullptr, buffers[i]->size() / w.n_expert};
  const bool places = in_host && n_ != 0;
  if (places) give_places(cached);
  std::vector<Addresses> addresses(w.n_expert);
  for (uint32_t e = 0; e < w.n_expert; ++e)
    addresses[e] = places && e < n_ ? on_device(cached, e) : in_memory(cached, e);
  transfer_.upload(*table, 0, std::as_bytes(std::span(addresses)));
  if (places) caches_.emplace(table.get(), std::move(cached));
  return table;
}

ExpertPlaces::Addresses ExpertPlaces::in_memory(const Cached& of, uint32_t expert) {
  Addresses addresses{};
  for (size_t i = 0; i < addresses.size(); ++i)
    if (const Source& s = of.sources[i]; s.whole)
      addresses[i] = vulkan(*s.whole).address() + expert * s.bytes;
  return addresses;
}

ExpertPlaces::Addresses ExpertPlaces::on_device(const Cached& of, uint32_t place) {
  Addresses addresses{};
  for (size_t i = 0; i < addresses.size(); ++i)
    if (const Source& s = of.sources[i]; s.whole) addresses[i] = s.places->address() + place * s.bytes;
  return addresses;
}

// Makes the places of a matrix, and fills them with its first experts.
void ExpertPlaces::give_places(Cached& cached) {
  if (!tables_) {
    tables_.emplace(device_);
    written_ = make_semaphore(device_);
    copied_ = make_semaphore(device_);
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.queueFamilyIndex = device_.copy_family();
    VK_CHECK(vkCreateCommandPool(device_.handle(), &pool, nullptr, &pool_));
    copies_ = allocate_commands(device_, pool_);
  }
  cached.cache.emplace(cached.n_expert, n_,
                       poison_ ? ExpertCache::Copies::of_all : ExpertCache::Copies::that_pay);
  Commands commands(device_);
  const VkCommandBuffer buffer = commands.begin();
  for (Source& s : cached.sources) {
    if (!s.whole) continue;
    s.places = std::make_shared<VulkanBuffer>(device_, n_ * s.bytes, BufferUse::device, /*for_copies=*/true);
    const VkBufferCopy region{vulkan(*s.whole).offset(), 0, n_ * s.bytes};
    vkCmdCopyBuffer(buffer, vulkan(*s.whole).handle(), s.places->handle(), 1, &region);
  }
  commands.end();
  commands.submit();
  commands.wait();
}

uint64_t ExpertPlaces::add_row(ExpertUses& uses, uint32_t used) const {
  if (!uses.ids) {
    uses.ids =
        std::make_unique<VulkanBuffer>(device_, caches_.size() * used * sizeof(uint32_t), BufferUse::shared);
    uses.used = used;
  }
  uses.rows.emplace_back();
  return (uses.rows.size() - 1) * used * sizeof(uint32_t);
}

void ExpertPlaces::follow(const ExpertUses& uses) {
  const bool may_change = copies_are_done();
  std::vector<Change> changes;
  for (size_t row = 0; row < uses.rows.size(); ++row) {
    const auto* ids = reinterpret_cast<const uint32_t*>(uses.ids->mapped().data()) + row * uses.used;
    for (const Buffer* table : uses.rows[row]) {
      const auto found = caches_.find(table);
      if (found == caches_.end()) continue;
      Cached& cached = found->second;
      for (const ExpertCache::Change& change : cached.cache->follow({ids, uses.used}, may_change))
        changes.push_back({&cached, change});
      reads_.uses += uses.used;
      reads_.hits += cached.cache->hits();
    }
  }
  if (!may_change || (changes.empty() && coming_.empty())) return;
  reads_.copies += changes.size();
  ++turn_;
  write_tables(changes);
  copy(changes);
  coming_ = std::move(changes);
}

bool ExpertPlaces::copies_are_done() const {
  if (turn_ == 0) return true;
  uint64_t value = 0;
  VK_CHECK(vkGetSemaphoreCounterValue(device_.handle(), copied_, &value));
  return value == turn_;
}

// Gives the tables the places of those that have come, and sends readers of those that go to host memory.
void ExpertPlaces::write_tables(const std::vector<Change>& changes) {
  std::map<std::pair<Cached*, uint32_t>, Addresses> entries;
  for (const auto& [of, change] : coming_) entries[{of, change.comes}] = on_device(*of, change.place);
  for (const auto& [of, change] : changes) entries[{of, change.goes}] = in_memory(*of, change.goes);
  const VkCommandBuffer commands = tables_->begin();
  barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
          VK_ACCESS_TRANSFER_WRITE_BIT);
  for (const auto& [entry, addresses] : entries)
    vkCmdUpdateBuffer(commands, entry.first->table->handle(), entry.second * sizeof addresses,
                      sizeof addresses, addresses.data());
  tables_->end();
  submit(device_.queue(), commands, copied_, turn_ - 1, written_, turn_);
}

void ExpertPlaces::copy(const std::vector<Change>& changes) {
  VK_CHECK(vkResetCommandPool(device_.handle(), pool_, 0));
  const VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VK_CHECK(vkBeginCommandBuffer(copies_, &info));
  const auto for_each = [&](const auto& with) {
    for (const auto& [of, change] : changes)
      for (const Source& s : of->sources)
        if (s.whole) with(s, change);
  };
  if (poison_) {
    for_each([&](const Source& s, const ExpertCache::Change& change) {
      vkCmdFillBuffer(copies_, s.places->handle(), change.place * s.bytes, s.bytes, ~0U);
    });
    barrier(copies_, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT);
  }
  for_each([&](const Source& s, const ExpertCache::Change& change) {
    const VkBufferCopy region{vulkan(*s.whole).offset() + change.comes * s.bytes, change.place * s.bytes,
                              s.bytes};
    vkCmdCopyBuffer(copies_, vulkan(*s.whole).handle(), s.places->handle(), 1, &region);
  });
  VK_CHECK(vkEndCommandBuffer(copies_));
  submit(device_.has_copy_queue() ? device_.copy_queue() : device_.queue(), copies_, written_, turn_, copied_,
         turn_);
}

}  // namespace bitnet::vk
