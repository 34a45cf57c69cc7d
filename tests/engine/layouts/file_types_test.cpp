#include "engine/layouts/file_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf.h"

namespace bitnet {
namespace {

using testing::HasSubstr;

TEST(FileTypes, TheEnumAndTheTableNameTheSame) {
  const std::pair<TensorType, const char*> names[] = {
      {TensorType::f32, "f32"},     {TensorType::f16, "f16"},
      {TensorType::bf16, "bf16"},   {TensorType::q4_0, "q4_0"},
      {TensorType::q5_0, "q5_0"},   {TensorType::q8_0, "q8_0"},
      {TensorType::q4_k, "q4_k"},   {TensorType::q5_k, "q5_k"},
      {TensorType::q6_k, "q6_k"},   {TensorType::tq1_0, "tq1_0"},
      {TensorType::tq2_0, "tq2_0"}, {TensorType::i2_s, "i2_s"},
      {TensorType::q2_0, "q2_0"},   {TensorType::q2_0_by_128, "q2_0 (128)"},
      {TensorType::pq2_0, "pq2_0"}, {TensorType::ptq1_0, "ptq1_0"},
      {TensorType::q1_0, "q1_0"}};
  for (const auto& [type, name] : names) {
    EXPECT_EQ(name_of(type), name);
    EXPECT_NE(find_file_type(type)->floats, nullptr) << name;
  }
  EXPECT_EQ(shown_name(TensorType::q4_k), "Q4_K");
  EXPECT_EQ(shown_name(TensorType{99}), "type 99");
  EXPECT_EQ(find_file_type(TensorType{99}), nullptr);
}

TEST(FileTypes, WhatCanBeRunIsNotRefused) {
  for (const auto type : {TensorType::i2_s, TensorType::tq1_0, TensorType::tq2_0, TensorType::q2_0,
                          TensorType::q2_0_by_128, TensorType::pq2_0, TensorType::ptq1_0, TensorType::q1_0,
                          TensorType::f32, TensorType::bf16, TensorType::q8_0, TensorType::q4_k})
    EXPECT_EQ(why_not(type, TensorRole::projection), "");
  for (const auto type : {TensorType::f32, TensorType::q5_k, TensorType::bf16, TensorType::i2_s,
                          TensorType::q2_0, TensorType::ptq1_0})
    for (const TensorRole role : {TensorRole::embedding, TensorRole::head})
      EXPECT_EQ(why_not(type, role), "");
  EXPECT_EQ(why_not(TensorType::f32, TensorRole::norm), "");
}

TEST(FileTypes, ARefusalNamesTheTypeAndWhatWouldHelp) {
  EXPECT_EQ(why_not(TensorType{3}, TensorRole::projection),
            "has type Q4_1, which cannot be run, wanted F32, F16, Q4_0, Q5_0, Q8_0, Q4_K, Q5_K, Q6_K, BF16, "
            "TQ1_0, TQ2_0, I2_S, Q1_0, Q2_0, PQ2_0 or PTQ1_0; llama-quantize q4_k_m makes such a file");
  EXPECT_EQ(why_not(TensorType{38}, TensorRole::projection),
            "has type TL1, which cannot be run; use the model's i2_s file");
  EXPECT_THAT(why_not(TensorType{39}, TensorRole::projection), HasSubstr("MXFP4 or TL2"));
  EXPECT_EQ(why_not(TensorType::f16, TensorRole::norm), "has type F16, wanted F32");
  EXPECT_THAT(why_not(TensorType{10}, TensorRole::head), HasSubstr("has type Q2_K, wanted F32, F16, Q4_0"));
  EXPECT_THAT(why_not(TensorType{10}, TensorRole::head), HasSubstr("--output-tensor-type q6_k"));
  EXPECT_THAT(why_not(TensorType{10}, TensorRole::embedding), HasSubstr("--token-embedding-type q6_k"));
}

}  // namespace
}  // namespace bitnet
