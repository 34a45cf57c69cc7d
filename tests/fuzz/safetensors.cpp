// Reads a folder of the Hugging Face hub: an input is config.json, tokenizer.json and model.safetensors, with
// a zero byte behind each of the first two.
#include "engine/hub/safetensors.h"

#include <algorithm>
#include <optional>

#include "engine/hub/config.h"
#include "engine/hub/convert.h"
#include "engine/hub/tokens.h"
#include "fuzz.h"

namespace {

using namespace bitnet;
using namespace bitnet::hub;

constexpr uint32_t kRows = 8;  // of the embedding

template <typename Work>
void attempt(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    fuzz::promise(error.kind() == ErrorKind::model);
    fuzz::check_message(error);
  }
}

std::optional<json> json_of(std::string_view text) {
  std::optional<json> value;
  attempt([&] { value = parse(text, {.values = 100'000, .names_once = true}, "x.json"); });
  return value;
}

// The tensors lie within the file and beside each other.
std::vector<HubTensor> tensors_of(const MappedFile& file) {
  std::vector<HubTensor> tensors = read_safetensors(file);
  const std::byte* at = tensors[0].data.data();
  for (const HubTensor& t : tensors) {
    fuzz::promise(!fuzz::has_control(t.name) && t.data.data() == at);
    at += t.data.size();
  }
  fuzz::promise(at == file.bytes().data() + file.bytes().size());
  return tensors;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const auto config_json = json_of(input.part()), tokenizer_json = json_of(input.part());
  Metadata metadata;
  Config config{.architecture = "llama", .ternary = true};
  if (config_json) attempt([&] { config = read_config(Fields(*config_json, "config.json"), metadata); });
  if (config_json && tokenizer_json)
    attempt([&] {
      const Fields fields(*config_json, "config.json");
      read_tokens({fields, Fields(*tokenizer_json, "tokenizer.json"), fields, fields, std::nullopt}, kRows,
                  metadata);
    });
  if (input.left.empty()) return 0;
  const fuzz::MemoryFile weights(reinterpret_cast<const uint8_t*>(input.left.data()), input.left.size());
  attempt([&] {
    auto file = std::make_shared<const MappedFile>(weights.path(), "file");
    Converted converted = convert({{"model.safetensors", tensors_of(*file)}}, config);
    converted.convert();
    const Checkpoint folder(Checkpoint::Parts{"folder",
                                              "safetensors",
                                              {file},
                                              metadata.file(),
                                              std::move(converted.tensors),
                                              std::move(converted.memory),
                                              {}});
    for (const GgufTensor& t : folder.tensors()) fuzz::promise(!t.data.empty() && !fuzz::has_control(t.name));
  });
  return 0;
}
