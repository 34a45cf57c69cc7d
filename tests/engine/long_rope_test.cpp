// A model of Phi-3's kind, trained with 32 tokens: sessions of more rotate with the long factors, and a
// timeline of the one kind is none of the other.
#include "session.h"

namespace bitnet {
namespace {

TEST(LongRope, TheContextOfASessionSaysWhichFactorsItHas) {
  const auto model = Engine::open(Checkpoint(BITNET_PHI3), on("cpu"));
  const std::vector<int32_t> tokens = {5, 9, 200, 31, 77, 8, 64, 2};
  const auto sessions_of = [&](uint32_t n_ctx) { return Session::create(*model, n_ctx); };
  const auto logits_in = [&](uint32_t n_ctx) {
    const auto session = sessions_of(n_ctx);
    session->sync(tokens);
    return copy(session->logits());
  };
  EXPECT_EQ(model->model().brief_context, 32U);
  EXPECT_EQ(logits_in(16), logits_in(32));
  EXPECT_EQ(logits_in(33), logits_in(256));
  EXPECT_NE(logits_in(32), logits_in(33));

  const auto brief = sessions_of(32), extended = sessions_of(33);
  brief->sync(tokens);
  extended->sync(tokens);
  const std::vector<std::byte> of_brief = brief->save(), of_extended = extended->save();
  EXPECT_THROW(extended->load(of_brief), Error);
  EXPECT_THROW(brief->load(of_extended), Error);
  const auto other = sessions_of(256);
  other->load(of_extended);
  EXPECT_THAT(other->tokens(), testing::ElementsAreArray(tokens));
  other->sync(tokens);
  EXPECT_EQ(copy(other->logits()), logits_in(256));
}

}  // namespace
}  // namespace bitnet
