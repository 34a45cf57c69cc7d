// A Walsh-Hadamard transform that is folded into weights of a file: the keys prism.hadamard.* of Bonsai 2.
//
// Thread rule: values and a free function.
//
// Source: PrismML's llama.cpp. What is not known is refused, since without the transform such a model talks
// garbage.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace bitnet {

class Checkpoint;
struct ModelFile;

struct Hadamard {
  uint32_t block = 0;                            // as Rotation::block
  std::map<uint32_t, std::vector<float>> signs;  // of each width of inputs; none: all are +1
  std::set<std::string> folded;                  // names of tensors that want a rotated input
  bool embedding = false;                        // rows of token_embd are to be rotated back
};

// Reads the keys where a file has them, checks them against the tensors, and fills in model.hadamard and what
// prism.hadamard.gdn_v_grouped says of the blocks. Throws Error(model) that names the key or the tensor.
void fold_hadamard(const Checkpoint& file, ModelFile& model);

}  // namespace bitnet
