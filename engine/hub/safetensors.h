// Reads the header of a safetensors file.
//
// Thread rule: a free function and values.
//
// A file is the length of its header (8 bytes, little-endian), the header (JSON), and the tensors, row-major
// and little-endian, which fill the rest without gaps. Nothing in it is trusted: every length and offset is
// checked against the file, and every violation is an Error(model) that names the file and the tensor.
// Source: the README of github.com/huggingface/safetensors.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/mapped_file.h"

namespace bitnet::hub {

struct HubTensor {
  std::string name, dtype;          // "model.norm.weight", "BF16"
  std::vector<uint64_t> shape;      // the contiguous dimension last; empty for one number
  uint64_t offset;                  // from the start of the file
  std::span<const std::byte> data;  // in the mapping, exactly as long as dtype and shape ask
};

std::vector<HubTensor> read_safetensors(const MappedFile& file);

}  // namespace bitnet::hub
