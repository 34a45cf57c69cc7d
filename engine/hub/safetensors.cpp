#include "safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "fields.h"

namespace bitnet::hub {
namespace {

// These lie far above any model that this engine runs, and bound what a hostile header can make it allocate.
constexpr uint64_t kMostHeader = 8 << 20;
constexpr JsonLimits kLimits{.bytes = kMostHeader, .depth = 8, .values = 500'000, .names_once = true};
constexpr size_t kMostName = 256, kMostDims = 8;

struct Dtype {
  const char* name;
  uint64_t bytes;
};
constexpr Dtype kDtypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2},    {"I64", 8},
                             {"U64", 8}, {"I32", 4}, {"U32", 4},  {"I16", 2},     {"U16", 2},
                             {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};

uint64_t whole(const json& value, const std::string& what, const std::string& path) {
  if (!value.is_number_unsigned())
    fail(path, fmt::format("{}: wanted a number of at least 0, got {}", what, shown(value)));
  return value.get<uint64_t>();
}

const json& list_of(const Fields& fields, const char* name, size_t least, size_t most) {
  const json& list = fields.get(name);
  if (!list.is_array() || list.size() < least || list.size() > most)
    fields.fail(name, fmt::format("wanted a list of {} to {} numbers, got {}", least, most, shown(list)));
  return list;
}

HubTensor read_tensor(const std::string& name, const json& value, uint64_t base, const MappedFile& file) {
  if (name.empty() || name.size() > kMostName || printable(name, name.size()) != name)
    fail(file.path(), fmt::format("name of a tensor: wanted 1 to {} bytes of printable UTF-8, got \"{}\"",
                                  kMostName, printable(name)));
  const std::string what = fmt::format("tensor {}", name);
  const Fields fields(value, file.path(), what + ": ");
  HubTensor tensor{name, fields.get_text("dtype"), {}, 0, {}};
  const auto* dtype = std::ranges::find(kDtypes, tensor.dtype, &Dtype::name);
  if (dtype == std::end(kDtypes))
    fields.fail("dtype",
                fmt::format("\"{}\" is not known, wanted one such as BF16", printable(tensor.dtype)));
  uint64_t bytes = dtype->bytes;
  bool wraps = false;
  for (const json& n : list_of(fields, "shape", 0, kMostDims)) {
    tensor.shape.push_back(whole(n, what + ": shape", file.path()));
    if (tensor.shape.back() == 0) fields.fail("shape", "wanted dimensions of at least 1, got 0");
    wraps |= __builtin_mul_overflow(bytes, tensor.shape.back(), &bytes);
  }
  const json& offsets = list_of(fields, "data_offsets", 2, 2);
  const uint64_t begin = whole(offsets[0], what + ": data_offsets", file.path());
  const uint64_t end = whole(offsets[1], what + ": data_offsets", file.path());
  const uint64_t size = file.bytes().size() - base;
  if (begin > end || end > size)
    fields.fail("data_offsets", fmt::format("wanted a range within {} bytes of data, got {} to {}; is the "
                                            "file complete?",
                                            size, begin, end));
  if (wraps || bytes != end - begin)
    fields.fail("data_offsets", fmt::format("wanted {} bytes for {} [{}], got {}",
                                            wraps ? "fewer than 2^64" : fmt::format("{}", bytes),
                                            tensor.dtype, fmt::join(tensor.shape, ", "), end - begin));
  tensor.offset = base + begin;
  tensor.data = file.bytes().subspan(tensor.offset, end - begin);
  return tensor;
}

// Tensors lie one behind the other, from the first byte of the data to the last.
void check_places(std::vector<HubTensor>& tensors, uint64_t base, const MappedFile& file) {
  std::ranges::sort(tensors, {}, &HubTensor::offset);
  uint64_t at = base;
  for (const HubTensor& t : tensors) {
    if (t.offset != at)
      fail(file.path(),
           fmt::format("tensor {}: wanted it at byte {} of the data, where the one before it ends, "
                       "got byte {}",
                       t.name, at - base, t.offset - base));
    at += t.data.size();
  }
  if (at != file.bytes().size())
    fail(file.path(),
         fmt::format("wanted the end of the file at byte {}, behind the last tensor, got {} bytes", at,
                     file.bytes().size()));
}

}  // namespace

std::vector<HubTensor> read_safetensors(const MappedFile& file) {
  uint64_t length = 0;
  const uint64_t size = file.bytes().size();
  if (size < sizeof length) fail(file.path(), fmt::format("wanted a safetensors file, got {} bytes", size));
  std::memcpy(&length, file.bytes().data(), sizeof length);
  if (length > size - sizeof length)
    fail(file.path(),
         fmt::format("header: wanted {} bytes, got {} before the end of the file; is it complete "
                     "and safetensors?",
                     length, size - sizeof length));
  if (length > kMostHeader)
    fail(file.path(), fmt::format("header: wanted at most {} bytes, got {}", kMostHeader, length));
  const std::string_view text = text_of(file).substr(sizeof length, length);
  if (!text.starts_with('{'))
    fail(file.path(),
         fmt::format("header: wanted it to begin with {{, got \"{}\"", printable(text.substr(0, 8))));
  const json header = parse(text, kLimits, file.path());
  const uint64_t base = sizeof length + length;
  std::vector<HubTensor> tensors;
  for (const auto& [name, value] : header.items())
    if (name != "__metadata__") tensors.push_back(read_tensor(name, value, base, file));
  if (tensors.empty()) fail(file.path(), "wanted tensors, got a header without any");
  check_places(tensors, base, file);
  return tensors;
}

}  // namespace bitnet::hub
