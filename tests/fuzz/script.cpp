// Parses a script as --script takes it, and matches its patterns with a text. Layout: script, NUL, text.
#include "app/script/script.h"

#include "app/base/pattern.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  fuzz::Input input(data, size);
  const std::string_view script = input.part();
  try {
    for (const ScriptStep& step : parse_script(script, "script")) {
      fuzz::promise(step.line >= 1);
      using Verb = ScriptStep::Verb;
      if (step.verb != Verb::expect && step.verb != Verb::expect_not && step.verb != Verb::wait_text)
        continue;
      try {
        Pattern(step.text).found_in(input.left);
      } catch (const Error& error) {
        fuzz::check_message(error);
      }
    }
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::usage);
    fuzz::check_message(error);
  }
  return 0;
}
