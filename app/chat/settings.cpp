#include "settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "app/base/nearest.h"
#include "engine/error.h"
#include "engine/json_reader.h"

namespace bitnet {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* name, const char* range, std::string_view value) {
  throw Error(ErrorKind::usage, fmt::format("{}: wanted {}, found '{}'", name, range, printable(value, 40)));
}

float number(const char* name, const char* range, std::string_view value) {
  float parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(parsed)) {
    refuse(name, range, value);
  }
  return parsed;
}

template <typename T>
T whole_number(const char* name, const char* range, std::string_view value) {
  T parsed = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
  if (error == std::errc::result_out_of_range)
    refuse(name, fmt::format("a whole number up to {}", std::numeric_limits<T>::max()).c_str(), value);
  if (error != std::errc() || end != value.data() + value.size()) refuse(name, range, value);
  return parsed;
}

float ranged(const char* name, const char* range, std::string_view value, float low, float high) {
  const float parsed = number(name, range, value);
  if (parsed < low || parsed > high) refuse(name, range, value);
  return parsed;
}

std::string show_stop(const ChatSettings& s) {
  if (s.stop.empty()) return "none";
  return json(s.stop).dump(-1, ' ', false, json::error_handler_t::replace);
}

// "none", one text as it stands, or a JSON list of texts.
void read_stop(ChatSettings& s, std::string_view value) {
  if (value == "none" || value.empty()) {
    s.stop.clear();
    return;
  }
  if (value.front() != '[') {
    s.stop = {std::string(value)};
    return;
  }
  constexpr const char* kWanted = "a text or a JSON list of texts";
  if (!is_json(value)) refuse("stop", kWanted, value);
  std::vector<std::string> stop;
  for (const json& text : read_json(value)) {
    if (!text.is_string() || text.get<std::string>().empty()) refuse("stop", kWanted, value);
    stop.push_back(text.get<std::string>());
  }
  s.stop = stop;
}

constexpr const char* kTemp = "0 to 100";
constexpr const char* kTopK = "a whole number, 0 = off";
constexpr const char* kTopP = "more than 0, up to 1";
constexpr const char* kMinP = "0 to 1";
constexpr const char* kPenalty = "0.01 to 100";
constexpr const char* kLast = "a whole number, 0 = off";
constexpr const char* kSeed = "a whole number, or 'random'";
constexpr const char* kContext =
    "a whole number up to what the model was trained for, 0 = that, or 16384 where it is less";
constexpr const char* kThink = "on, off, or auto: as the chat template has it";
constexpr const char* kDraft = "on or off";
constexpr const char* kStatus = "short or full";
constexpr const char* kMost = "a whole number, 0 = as many as the context holds";

void read_think(ChatSettings& s, std::string_view value) {
  if (value == "on") {
    s.think = true;
  } else if (value == "off") {
    s.think = false;
  } else if (value == "auto") {
    s.think.reset();
  } else {
    refuse("think", kThink, value);
  }
}

void read_draft(ChatSettings& s, std::string_view value) {
  if (value != "on" && value != "off") refuse("draft", kDraft, value);
  s.draft = value == "on";
}

void read_status(ChatSettings& s, std::string_view value) {
  if (value != "short" && value != "full") refuse("status", kStatus, value);
  s.full_status = value == "full";
}

const Setting kSettings[] = {
    {"temp", kTemp, "temperature; 0 always takes the likeliest token",
     [](ChatSettings& s, std::string_view v) { s.sampler.temperature = ranged("temp", kTemp, v, 0, 100); },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.temperature); }},
    {"top_k", kTopK, "choose among this many of the likeliest tokens",
     [](ChatSettings& s, std::string_view v) { s.sampler.top_k = whole_number<uint32_t>("top_k", kTopK, v); },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.top_k); }},
    {"top_p", kTopP, "choose among the likeliest tokens that make up this much probability",
     [](ChatSettings& s, std::string_view v) {
       const float p = ranged("top_p", kTopP, v, 0, 1);
       if (p == 0) refuse("top_p", kTopP, v);
       s.sampler.top_p = p;
     },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.top_p); }},
    {"min_p", kMinP, "drop tokens less likely than this share of the likeliest one",
     [](ChatSettings& s, std::string_view v) { s.sampler.min_p = ranged("min_p", kMinP, v, 0, 1); },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.min_p); }},
    {"repeat_penalty", kPenalty, "make tokens that were just used less likely; 1 = off",
     [](ChatSettings& s, std::string_view v) {
       s.sampler.repeat_penalty = ranged("repeat_penalty", kPenalty, v, 0.01F, 100);
     },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.repeat_penalty); }},
    {"repeat_last", kLast, "how many of the latest tokens repeat_penalty looks at",
     [](ChatSettings& s, std::string_view v) {
       s.sampler.repeat_last = whole_number<uint32_t>("repeat_last", kLast, v);
     },
     [](const ChatSettings& s) { return fmt::format("{}", s.sampler.repeat_last); }},
    {"seed", kSeed,
     "where the random choices begin: the same seed and settings give the same answer on the same device",
     [](ChatSettings& s, std::string_view v) {
       if (v == "random") {
         s.seed.reset();
       } else {
         s.seed = whole_number<uint64_t>("seed", kSeed, v);
       }
     },
     [](const ChatSettings& s) { return s.seed ? fmt::format("{}", *s.seed) : std::string("random"); }},
    {"max_tokens", kMost, "the most tokens of an answer",
     [](ChatSettings& s, std::string_view v) {
       s.max_tokens = whole_number<uint32_t>("max_tokens", kMost, v);
     },
     [](const ChatSettings& s) { return fmt::format("{}", s.max_tokens); }},
    {"stop", "a text, a JSON list of texts, or 'none'", "end the answer where this text appears", read_stop,
     show_stop},
    {"ctx", kContext, "tokens of context; another number empties the KV cache",
     [](ChatSettings& s, std::string_view v) { s.ctx = whole_number<uint32_t>("ctx", kContext, v); },
     [](const ChatSettings& s) { return fmt::format("{}", s.ctx); }},
    {"draft", kDraft,
     "try several tokens at once where the text or a stored answer repeats itself; answers are the same",
     read_draft, [](const ChatSettings& s) { return std::string(s.draft ? "on" : "off"); }},
    {"think", kThink, "let the model think before it answers, if its chat template knows how", read_think,
     [](const ChatSettings& s) {
       return std::string(!s.think ? "auto" : *s.think ? "on" : "off");
     }},
    {"status", kStatus,
     "what the status line shows: full adds how much of the prompt was known already, and right guesses",
     read_status, [](const ChatSettings& s) { return std::string(s.full_status ? "full" : "short"); }},
};

}  // namespace

ChatSettings interactive_settings() {
  ChatSettings s;
  s.sampler.temperature = 0.7F;
  s.sampler.top_k = 40;
  s.sampler.top_p = 0.95F;
  s.sampler.min_p = 0.05F;
  return s;
}

ChatSettings script_settings() {
  ChatSettings s;
  s.begun_as = SettingSource::script;
  s.seed = 0;
  return s;
}

std::span<const Setting> settings_table() { return kSettings; }

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : kSettings) {
    if (name == setting.name) return &setting;
  }
  return nullptr;
}

const Setting& setting_named(std::string_view name) {
  if (const Setting* setting = find_setting(name)) return *setting;
  std::vector<std::string> names;
  for (const Setting& setting : kSettings) names.emplace_back(setting.name);
  const std::string near = nearest(name.substr(0, 40), names);
  throw Error(ErrorKind::usage, fmt::format("there is no setting '{}'; {}", printable(name, 40),
                                            near.empty() ? "/set lists them" : "did you mean " + near + "?"));
}

const char* name_of(SettingSource source) {
  switch (source) {
    case SettingSource::program:
      return "the program";
    case SettingSource::model:
      return "the model's file";
    case SettingSource::script:
      return "scripts";
    case SettingSource::config:
      return "the config file";
    case SettingSource::command_line:
      return "the command line";
    case SettingSource::persona:
      return "the persona";
    case SettingSource::person:
      return "/set";
  }
  return "?";
}

void set_from(SettingSource source, ChatSettings& settings, std::string_view name, std::string_view value) {
  setting_named(name).read(settings, value);
  settings.sources.insert_or_assign(std::string(name), source);
}

SettingSource source_of(const ChatSettings& settings, std::string_view name) {
  const auto found = settings.sources.find(name);
  return found == settings.sources.end() ? settings.begun_as : found->second;
}

void wear(const Persona& persona, ChatSettings& settings, const ChatSettings& defaults, SettingSource keeps) {
  for (const Setting& setting : settings_table()) {
    if (source_of(settings, setting.name) != SettingSource::persona) continue;
    setting.read(settings, setting.show(defaults));
    settings.sources.erase(setting.name);
    if (const auto source = defaults.sources.find(setting.name); source != defaults.sources.end())
      settings.sources.insert(*source);
  }
  for (const auto& [name, value] : persona.settings) {
    if (source_of(settings, name) < keeps) set_from(SettingSource::persona, settings, name, value);
  }
  settings.persona = persona;
}

SettingSource kept_beside(const Persona& asked, const ChatSettings& defaults) {
  return asked == defaults.persona ? SettingSource::command_line : SettingSource::person;
}

ModelSettings usable_wishes(const ModelSettings& wishes) {
  ModelSettings usable{{}, wishes.unusable};
  for (const ModelSettings::Wish& wish : wishes.values) {
    try {
      ChatSettings scratch;
      find_setting(wish.setting)->read(scratch, wish.value);
      usable.values.push_back(wish);
    } catch (const Error& error) {
      const std::string_view why = error.what();  // begins with the setting's name
      usable.unusable.push_back(wish.key + std::string(why.substr(wish.setting.size())));
    }
  }
  return usable;
}

void adopt(const ModelSettings& wishes, ChatSettings& settings) {
  const ChatSettings program = interactive_settings();
  for (const Setting& setting : settings_table()) {
    if (source_of(settings, setting.name) != SettingSource::model) continue;
    setting.read(settings, setting.show(program));
    settings.sources.erase(setting.name);
  }
  for (const ModelSettings::Wish& wish : wishes.values) {
    if (source_of(settings, wish.setting) == SettingSource::program)
      set_from(SettingSource::model, settings, wish.setting, wish.value);
  }
}

uint64_t random_seed() {
  std::random_device device;
  return ((uint64_t{device()} << 32) | device()) >> 11;
}

SamplerParams sampler_for_turn(const ChatSettings& settings, uint64_t seed) {
  SamplerParams params = settings.sampler;
  params.seed = seed;
  return params;
}

std::string to_json(const ChatSettings& s, uint64_t seed, uint32_t n_ctx) {
  json j = {{"temp", s.sampler.temperature},
            {"top_k", s.sampler.top_k},
            {"top_p", s.sampler.top_p},
            {"min_p", s.sampler.min_p},
            {"repeat_penalty", s.sampler.repeat_penalty},
            {"repeat_last", s.sampler.repeat_last},
            {"seed", seed},
            {"max_tokens", s.max_tokens},
            {"stop", s.stop},
            {"utc_offset", s.utc_offset}};
  if (n_ctx != 0) j["ctx"] = n_ctx;
  if (s.think) j["think"] = *s.think;
  if (!s.persona.name.empty()) j["persona"] = {{"name", s.persona.name}, {"settings", s.persona.settings}};
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {

template <typename T>
T stored_count(const json& j, const char* name) {
  const json& value = j.at(name);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > std::numeric_limits<T>::max())
    throw Error(ErrorKind::database, fmt::format("{} is no whole number", name));
  return value.get<T>();
}

int64_t stored_offset(const json& value) {
  constexpr int64_t kADay = 24 * 60 * 60;
  if (!value.is_number_integer() || value.get<int64_t>() < -kADay || value.get<int64_t>() > kADay)
    throw Error(ErrorKind::database, "utc_offset is no offset of a clock");
  return value.get<int64_t>();
}

}  // namespace

void from_json(std::string_view text, ChatSettings& s) {
  try {
    const json j = read_json(text);
    s.sampler.temperature = j.at("temp").get<float>();
    s.sampler.top_k = stored_count<uint32_t>(j, "top_k");
    s.sampler.top_p = j.at("top_p").get<float>();
    s.sampler.min_p = j.at("min_p").get<float>();
    s.sampler.repeat_penalty = j.at("repeat_penalty").get<float>();
    s.sampler.repeat_last = stored_count<uint32_t>(j, "repeat_last");
    s.seed = stored_count<uint64_t>(j, "seed");
    s.max_tokens = stored_count<uint32_t>(j, "max_tokens");
    s.stop = j.at("stop").get<std::vector<std::string>>();
    if (j.contains("utc_offset"))
      s.utc_offset = stored_offset(j.at("utc_offset"));  // not of earlier versions
    s.ctx = j.contains("ctx") ? stored_count<uint32_t>(j, "ctx") : 0;
    s.think.reset();
    if (j.contains("think")) s.think = j.at("think").get<bool>();
    s.persona = {};
    if (!j.contains("persona")) return;
    s.persona.name = j.at("persona").at("name").get<std::string>();
    s.persona.settings = j.at("persona").at("settings").get<decltype(s.persona.settings)>();
  } catch (const std::exception& error) {  // of the reader, or of a member that is not as it should be
    throw Error(ErrorKind::database, fmt::format("the stored settings of this turn cannot be read: {}",
                                                 printable(error.what(), 200)));
  }
}

}  // namespace bitnet
