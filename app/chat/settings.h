// What a person can set about answers: the values, their defaults and their ranges, in one table.
//
// Thread rule: plain values and free functions; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/base/output_file.h"
#include "app/model/model_settings.h"
#include "engine/sampler.h"

namespace bitnet {

// Where the value of a setting comes from; a later source wins over those before it, but for the command line
// beside a persona (see kept_beside). A script begins with values of its own, which a model's file does not
// change, so that it does the same with every file.
enum class SettingSource { program, model, script, config, command_line, persona, person };
const char* name_of(SettingSource source);  // for people: "the model's file"

// A persona that answers: its name, and the settings that it brings, as text. A conversation keeps both, so
// that it goes on as it was even if the file changes.
struct Persona {
  std::string name;  // empty: none
  std::vector<std::pair<std::string, std::string>> settings;
  bool operator==(const Persona&) const = default;
};

struct ChatSettings {
  SamplerParams sampler;          // its seed is used only where `seed` is set
  std::optional<uint64_t> seed;   // empty: a new one for each turn
  uint32_t max_tokens = 0;        // of an answer; 0 = as many as the context holds
  std::vector<std::string> stop;  // texts that end an answer
  uint32_t ctx = 0;               // tokens of context; 0 = usual_context() of the model
  bool draft = true;              // what may come next is guessed and tried; answers are the same without
  std::optional<bool> think;      // enable_thinking of the chat template; empty = as that has it
  std::string system;             // system prompt; empty = none
  int64_t utc_offset = 0;         // of the clock as templates see it: that of where the conversation began
  Persona persona;                // whose settings and system prompt these are; make_chat() has them worn
  bool is_private = false;        // --private: the person wants nothing kept
  WriteRules files;               // where commands may write
  std::map<std::string, SettingSource, std::less<>> sources;  // by name of a setting; none: `begun_as`
  SettingSource begun_as = SettingSource::program;
  bool asks = false;         // a person is there: a bare "quit" is asked about
  bool once = false;         // a question of the command line: its conversation is marked as such
  bool titles = false;       // the model makes titles while it has nothing else to do
  bool verbose = false;      // notices say what lies behind an answer: template, seed, reuse
  bool full_status = false;  // the status line says it too
};

// The settings of a chat.
struct SettingsInUse {
  ChatSettings now;               // `system`, `think` and `utc_offset` are those of the open conversation
  ChatSettings defaults;          // what /reset goes back to; those of the model's file too once it is loaded
  std::string new_system;         // the system prompt that new conversations begin with
  std::optional<bool> new_think;  // and whether the model thinks in them
  Persona new_persona;            // and who answers in them
  // What /private changes and /private off puts back, so that nothing typed in between is stored later.
  struct {
    std::string system;
    std::vector<std::string> stop;
    Persona persona;
  } before_private;
};

// What a person chats with: temperature 0.7, top_k 40, top_p 0.95, min_p 0.05.
ChatSettings interactive_settings();
// What a script runs with, so that it does the same every time: greedy, with seed 0.
ChatSettings script_settings();

// One row of `/set`: how a name is read, shown and described.
struct Setting {
  const char* name;
  const char* range;  // for people: "0 to 2"
  const char* help;
  void (*read)(ChatSettings&, std::string_view value);  // throws Error(usage) that says name, range and value
  std::string (*show)(const ChatSettings&);
};
std::span<const Setting> settings_table();
const Setting* find_setting(std::string_view name);   // nullptr where unknown
const Setting& setting_named(std::string_view name);  // throws Error(usage) with the nearest name

// Does what `/set NAME VALUE` does, and remembers who said so. Throws Error(usage).
void set_from(SettingSource source, ChatSettings& settings, std::string_view name, std::string_view value);
SettingSource source_of(const ChatSettings& settings, std::string_view name);

// Takes the settings of a persona before it back and sets those of this one, in `settings`, which began as
// `defaults`. What `keeps` or a later source has set stays: SettingSource::person, or ::command_line and the
// person. Throws Error(usage).
void wear(const Persona& persona, ChatSettings& settings, const ChatSettings& defaults, SettingSource keeps);
// The `keeps` of a persona that was asked for: the command line wins over the one that it names itself, and
// yields to another one, which the person asks for later.
SettingSource kept_beside(const Persona& asked, const ChatSettings& defaults);

// Returns the wishes of a model's file that are within the range of their setting; the others become phrases
// in `unusable`.
ModelSettings usable_wishes(const ModelSettings& wishes);
// Makes these wishes the defaults, where neither the command line, the config file, a script nor the person
// says otherwise. Wishes of a file before it are taken back. Requires usable wishes.
void adopt(const ModelSettings& wishes, ChatSettings& settings);

// A seed for a turn where the person has set none: 53 bits, so that it survives every JSON reader.
uint64_t random_seed();
// The sampler of a turn, which has this seed.
SamplerParams sampler_for_turn(const ChatSettings& settings, uint64_t seed);
// As stored with a turn, for which a session of n_ctx tokens computed, 0 = not known; from_json has it as
// `ctx`, and throws Error(database) for what is not one.
std::string to_json(const ChatSettings& settings, uint64_t seed, uint32_t n_ctx = 0);
void from_json(std::string_view json, ChatSettings& settings);

}  // namespace bitnet
