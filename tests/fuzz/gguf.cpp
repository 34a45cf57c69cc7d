// Reads a model file: the directory, what a model must hold, vocabulary and template, and every typed access.
#include "engine/gguf.h"

#include <algorithm>
#include <vector>

#include "app/model/model_file.h"
#include "engine/engine.h"
#include "engine/layouts/file_types.h"
#include "fuzz.h"

namespace {

using namespace bitnet;

// Reads the first row of a tensor, as far as its type can be read.
void read_row(const GgufTensor& tensor) {
  const FileType& type = *find_file_type(tensor.type);
  const uint64_t n = tensor.shape[0];
  if (type.scale_every != 0 && n % type.scale_every != 0)
    return;  // half a block of i2_s, which models have not
  if (type.floats) {
    std::vector<float> values(n);
    type.floats(tensor.data.data(), n, values.data());
  }
  if (type.trits) {
    std::vector<uint8_t> codes(n);
    std::vector<uint16_t> scales(n / type.scale_every);
    const bool ternary = type.trits(tensor.data.data(), n, codes.data(), scales.data());
    fuzz::promise(!ternary || std::ranges::all_of(codes, [](uint8_t code) { return code <= 2; }));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
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
    const Checkpoint file(input.path());
    for (const GgufTensor& tensor : file.tensors()) {
      fuzz::promise(tensor.offset + tensor.data.size() <= file.size());
      fuzz::promise(!fuzz::has_control(tensor.name));
      read_row(tensor);
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
