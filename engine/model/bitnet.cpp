// BitNet b1.58 (arXiv 2402.17764, 2504.12285), under the names of its several converters: a norm before each
// projection, also before attn_output and ffn_down; inputs in int8.
#include <fmt/format.h>

#include "families.h"
#include "tensors.h"

namespace bitnet {
namespace {

constexpr const char* kMicrosofts[] = {"bitnet-b1.58", "bitnet-25", "bitnet-1.58"};

// 1bitLLM's models have SiLU and LLaMA 2's tokenizer with two tokens more; Microsoft's 2B4T has relu^2 and
// LLaMA 3's. The architecture does not tell, since each converter writes one name for both.
void find_activation(const Checkpoint& file, Config& c) {
  const std::string key = c.architecture + ".hidden_activation";
  if (const auto said = file.find_string(key)) {
    if (*said != "silu" && *said != "relu2" && *said != "relu_squared")
      fail(file, fmt::format("{} is \"{}\", wanted silu or relu2", key, printable(*said)));
    c.act = *said == "silu" ? Act::silu : Act::relu2;
    c.activation_reason = key;
    return;
  }
  const bool llama2 = c.n_vocab == 32002 || file.find_string("tokenizer.ggml.model") == "llama";
  const bool llama3 = c.n_vocab == 128256;
  const bool microsofts =
      std::find(std::begin(kMicrosofts), std::end(kMicrosofts), c.architecture) != std::end(kMicrosofts);
  c.act = llama2 || (!llama3 && !microsofts) ? Act::silu : Act::relu2;
  c.activation_reason = llama2   ? "the vocabulary is LLaMA 2's, as 1bitLLM's models have it"
                        : llama3 ? "the vocabulary is LLaMA 3's, as Microsoft's models have it"
                                 : "general.architecture is " + c.architecture;
}

}  // namespace

void read_bitnet(const Checkpoint& file, Config& c) {
  find_activation(file, c);
  read_rope_scaling(file, c);
}

FileBlock bitnet_block(const Checkpoint& file, const Config& c, uint32_t index) {
  const Tensors t(file, index);
  FileBlock block = llama_block(file, c, index);
  block.attention.sub = t.norm("attn_sub_norm", uint64_t{c.n_head} * c.head_dim, c.norm_epsilon);
  block.ffn.sub = t.norm("ffn_sub_norm", c.n_ff, c.norm_epsilon);
  return block;
}

}  // namespace bitnet
