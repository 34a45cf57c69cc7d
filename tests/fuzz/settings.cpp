// Parses the settings of a turn as they are stored, and a list of texts for 'stop'.
#include "app/chat/settings.h"

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    ChatSettings settings;
    from_json(text, settings);
    from_json(to_json(settings, 1), settings);
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::database);
    fuzz::check_message(error);
  }
  try {
    ChatSettings settings;
    setting_named("stop").read(settings, text);
    fuzz::promise(!setting_named("stop").show(settings).empty());
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::usage);
    fuzz::check_message(error);
  }
  return 0;
}
