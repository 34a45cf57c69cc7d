// Tests that a device is found out whose answers depend on how many tokens it computes together.
#include "app/probe/validation.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/wrong_session.h"

namespace bitnet {
namespace {

std::vector<uint32_t> wrong_batches(uint32_t wrong_in, float error) {
  WrongSession device(wrong_in, error);
  std::vector<uint32_t> wrong;
  for (const BatchDifference& d : batch_differences(device, tokens_to_validate(100)))
    if (!d.same) wrong.push_back(d.batch);
  return wrong;
}

TEST(BatchDifferences, NameThePassesThatAreWrong) {
  EXPECT_THAT(wrong_batches(77, 1), testing::IsEmpty());
  EXPECT_THAT(wrong_batches(3, 1), testing::ElementsAre(3));
  EXPECT_THAT(wrong_batches(0, NAN), testing::ElementsAre(0));
  EXPECT_THAT(wrong_batches(1, 1),
              testing::ElementsAre(2, 3, 4, 8, 0));  // what is compared with is wrong itself
}

TEST(BatchDifferences, SayHowLargeTheyAre) {
  WrongSession device(4, 2.5F);
  const BatchDifference d = batch_differences(device, {1, 2, 3, 4, 5, 6, 7, 8})[2];
  EXPECT_EQ(describe(d),
            "passes of 4 tokens: logits differ by up to 2.50e+00 of 3.60e+01 from those of one by one; "
            "look at what computes a token, and a few together");
}

}  // namespace
}  // namespace bitnet
