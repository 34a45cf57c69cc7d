// Tests what becomes of tokenizer.json and generation_config.json, without a folder around them.
#include "engine/hub/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "engine/gguf.h"

namespace bitnet::hub {
namespace {

// The metadata of a model with two letters.
std::unique_ptr<Checkpoint> read(const json& pre_tokenizer, const json& generation_config = json::object()) {
  const json config = json::object(),
             model = {{"type", "BPE"}, {"vocab", {{"a", 0U}, {"b", 1U}}}, {"merges", json::array()}};
  const json tokenizer = {{"pre_tokenizer", pre_tokenizer}, {"model", model}};
  Metadata metadata;
  read_tokens({Fields(config, "config.json"), Fields(tokenizer, "tokenizer.json"), std::nullopt,
               Fields(generation_config, "generation_config.json"), std::nullopt},
              2, metadata);
  Checkpoint::Parts parts;
  parts.path = "folder";
  parts.format = "safetensors";
  parts.head = metadata.file();
  return std::make_unique<Checkpoint>(std::move(parts));
}

json cut_by(const char* regex) {
  const json split = {
      {"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}, {"invert", false}};
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  return {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
}

TEST(HubTokens, APreTokenizerIsKnownByItsPattern) {
  const auto pre = [](const char* regex) { return read(cut_by(regex))->find_string("tokenizer.ggml.pre"); };
  // As Phi-4-mini has it: o200k's.
  EXPECT_EQ(pre(R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
                R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
                R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
            "gpt-4o");
  // As Mistral-Nemo has it.
  EXPECT_EQ(pre(R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
            "tekken");
  EXPECT_EQ(pre(R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"),
            "llama-bpe");
  EXPECT_EQ(pre("x"), "of tokenizer.json");
}

TEST(HubTokens, NoWishIsAReasonToRefuseAModel) {
  const auto wishes = [](const json& wished) {
    json all = wished;
    all["do_sample"] = true;
    return read(cut_by("x"), all);
  };
  EXPECT_EQ(wishes({{"top_k", -1}})->find_f32("general.sampling.top_k"), -1.0F);
  EXPECT_EQ(wishes({{"top_k", 50.0}})->find_f32("general.sampling.top_k"), 50.0F);
  EXPECT_EQ(wishes({{"temperature", 1}})->find_f32("general.sampling.temp"), 1.0F);
  EXPECT_EQ(wishes({{"top_k", nullptr}})->find("general.sampling.top_k"), nullptr);
  for (const json& none : {json("0.7"), json(true), json::array({1}), json(1e300)}) {
    const auto file = wishes({{"temperature", none}, {"top_p", 0.5}});
    ASSERT_NE(file->find("general.sampling.temp"), nullptr);
    EXPECT_EQ(file->find("general.sampling.temp")->type, GgufType::string);
    EXPECT_EQ(file->find_f32("general.sampling.top_p"), 0.5F);
  }
}

}  // namespace
}  // namespace bitnet::hub
