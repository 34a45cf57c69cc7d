// The value of an option, from its text. Each function throws Error(usage) with the option's name, what was
// wanted and what was found.
//
// Thread rule: free functions; any thread.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/model/model_open.h"
#include "engine/engine.h"

namespace bitnet {

[[noreturn]] void refuse_value(const char* name, std::string_view wanted, std::string_view found);

template <typename T>
T number_value(const char* name, std::string_view text, T low, T high) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(value >= low && value <= high)) {
    refuse_value(name, fmt::format("{} to {}", low, high), text);
  }
  return value;
}

uint32_t count_value(const char* name, std::string_view text, uint32_t low, uint32_t high);
bool on_or_off(const char* name, std::string_view text);
std::string one_of(const char* name, std::string_view text,
                   const char* words);                           // with spaces between the words
VramBudget vram_value(const char* name, std::string_view text);  // "auto", "60%", or as size_value
uint64_t size_value(const char* name, std::string_view text);  // "1.5G", in bytes; K, M, G and T are of 1024
std::string not_empty(const char* name, std::string_view text);
int64_t conversation_id(std::string_view text);
std::vector<int32_t> token_ids(std::string_view list);  // "1,2,3"
std::vector<std::string> words_of_list(const char* name,
                                       std::string_view list);  // "a,b", none empty or twice
SteerOption steer_value(std::string_view text);                 // "layer=3,file=v.npy,scale=2"
Interventions::Head head_value(std::string_view text);          // "3:5"
std::pair<uint32_t, uint32_t> pair_value(const char* name, std::string_view text, char between);  // "3-5"
std::vector<Stage> stage_values(const char* name, std::string_view list);  // as name_of(Stage)

}  // namespace bitnet
