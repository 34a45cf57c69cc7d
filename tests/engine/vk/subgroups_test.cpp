// Tests which subgroups kernels run with on devices that are not here, by what these say of themselves.
#include "engine/vk/subgroups.h"

#include <gtest/gtest.h>

namespace bitnet::vk {
namespace {

SubgroupSupport support(uint32_t size, uint32_t fewest, uint32_t most, bool can_require = true) {
  return {size, fewest, most, true, can_require, true};
}

// The lanes that kernels ask for; 0 where they ask for none.
uint32_t required(const SubgroupSupport& s) {
  const Subgroups chosen = choose_subgroups(s);
  EXPECT_TRUE(chosen.usable && chosen.full);
  return chosen.required ? chosen.size : 0;
}

TEST(Subgroups, KernelsAskForASizeWhereADriverMayChoose) {
  EXPECT_EQ(required(support(32, 8, 32)), 16U);     // Mesa on Intel's GPUs
  EXPECT_EQ(required(support(32, 16, 32)), 16U);    // and on its newer ones
  EXPECT_EQ(required(support(64, 32, 64)), 32U);    // AMD's RDNA
  EXPECT_EQ(required(support(128, 64, 128)), 64U);  // Adreno
}

// Asking for it would only make workgroups smaller on some devices (maxComputeWorkgroupSubgroups).
TEST(Subgroups, AFixedSizeIsNotAskedFor) {
  for (const bool can_require : {false, true})
    for (const uint32_t size : {4U, 8U, 16U, 32U, 64U}) {
      const SubgroupSupport fixed = support(size, size, size, can_require);
      EXPECT_EQ(required(fixed), 0U);
      EXPECT_EQ(choose_subgroups(fixed).size, size);
    }
}

TEST(Subgroups, WhereLanesMayBeMissingNoneAreUsed) {
  EXPECT_FALSE(choose_subgroups(support(64, 32, 64, false)).usable);  // MoltenVK on some GPUs of AMD
  SubgroupSupport not_full = support(32, 8, 32);
  not_full.can_be_full = false;
  EXPECT_FALSE(choose_subgroups(not_full).usable);
}

TEST(Subgroups, NoKernelIsForMoreThan64LanesOrForFewerThan4) {
  EXPECT_FALSE(choose_subgroups(support(128, 128, 128)).usable);
  for (const uint32_t size : {1U, 2U}) EXPECT_FALSE(choose_subgroups(support(size, size, size)).usable);
}

TEST(Subgroups, WithoutTheirOperationsNoneAreUsed) {
  SubgroupSupport basic = support(32, 32, 32);
  basic.operations = false;
  EXPECT_FALSE(choose_subgroups(basic).usable);
}

}  // namespace
}  // namespace bitnet::vk
