// Reads a model file: the directory, what a model must hold, vocabulary and template, and every typed access.
#include "engine/gguf.h"

#include "app/model/model_file.h"
#include "engine/engine.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace bitnet;
  const fuzz::MemoryFile input(data, size);
  const auto attempt = [](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      fuzz::promise(error.kind() == ErrorKind::model);
      fuzz::check_message(error);
    }
  };
  attempt([&] {
    const GgufFile file(input.path());
    for (const GgufTensor& tensor : file.tensors()) {
      fuzz::promise(tensor.offset + tensor.data.size() <= file.size());
      fuzz::promise(!fuzz::has_control(tensor.name));
    }
    for (const auto& entry : file.metadata()) {
      const std::string& key = entry.first;  // clang 14 captures no structured binding
      fuzz::promise(!fuzz::has_control(key));
      attempt([&] { file.get_u32(key); });
      attempt([&] { file.find_f32(key); });
      attempt([&] { file.find_bool(key); });
      attempt([&] { file.find_string(key); });
      attempt([&] { file.find_strings(key); });
      attempt([&] { file.find_ints(key); });
      attempt([&] { file.find_floats(key); });
    }
    attempt([&] { read_model_info(file); });
    attempt([&] { read_model_text(file, ""); });
  });
  return 0;
}
