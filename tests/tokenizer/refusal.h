// What tests of vocabularies with faults share.
#pragma once

#include <gmock/gmock.h>

#include <utility>

#include "engine/error.h"
#include "tokenizer/tokenizer.h"

namespace bitnet {

// Expects that no tokenizer is made of `vocabulary`, and an Error(model) that says `wanted`.
inline void expect_refused(Vocabulary vocabulary, const char* wanted) {
  try {
    const Tokenizer t(std::move(vocabulary));
    ADD_FAILURE() << "accepted: " << wanted;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::model);
    EXPECT_THAT(e.what(), testing::HasSubstr(wanted));
  }
}

}  // namespace bitnet
