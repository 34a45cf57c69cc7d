// Tests where weights are placed: never over a budget, and more with more of it.
#include "engine/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/engine.h"

namespace bitnet {
namespace {

using enum WeightPiece::Kind;

struct Needs {
  uint64_t fixed = 0;
  std::vector<WeightPiece> pieces;
  uint64_t total() const {
    return std::accumulate(pieces.begin(), pieces.end(), fixed,
                           [](uint64_t sum, const WeightPiece& p) { return sum + p.bytes; });
  }
};

// A model's shape, or sizes without any sense.
Needs random_needs(std::mt19937& rng, const std::vector<GgufTensor>& tensors) {
  const auto number = [&](uint64_t most) { return rng() % (most + 1); };
  Needs n{number(50), {}};
  const uint32_t layers = static_cast<uint32_t>(1 + number(6));
  const auto add = [&](WeightPiece::Kind kind, uint32_t layer, uint64_t bytes, bool all) {
    n.pieces.push_back({kind, layer, bytes, all ? bytes : number(1), &tensors[n.pieces.size()]});
  };
  add(embedding, 0, number(60), false);
  for (uint32_t i = 0; i < layers; ++i) {
    add(attention, i, number(20), true);
    add(attention, i, number(9), true);
    add(feed_forward, i, number(40), true);
    add(feed_forward, i, number(20), true);
  }
  add(head, 0, number(60), true);
  std::ranges::shuffle(n.pieces, rng);
  return n;
}

TEST(Placement, IsNeverOverABudgetAndGrowsWithIt) {
  const std::vector<GgufTensor> tensors(64);
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    const Needs n = random_needs(rng, tensors);
    Placement before = place(n.fixed, n.pieces, {.vram = 0});
    for (uint64_t vram = 0; vram <= n.total() + 5; ++vram) {
      const Placement p = place(n.fixed, n.pieces, {.vram = vram});
      uint64_t sums[2] = {n.fixed, 0}, read[2] = {0, 0};
      for (size_t i = 0; i < p.pieces.size(); ++i) {
        sums[static_cast<int>(p.homes[i])] += p.pieces[i].bytes;
        read[static_cast<int>(p.homes[i])] += p.pieces[i].read;
        EXPECT_EQ(p.home_of(*p.pieces[i].tensor), p.homes[i]);
      }
      EXPECT_THAT(sums, testing::ElementsAre(p.on_device, p.in_host));
      EXPECT_THAT(read, testing::ElementsAre(p.read_on_device, p.read_in_host));
      EXPECT_EQ(p.on_device + p.in_host, n.total());
      EXPECT_LE(p.on_device, std::max(vram, n.fixed));
      EXPECT_GE(p.on_device, before.on_device);
      EXPECT_GE(p.read_on_device, before.read_on_device);
      EXPECT_LE(p.read_in_host, before.read_in_host);
      before = p;
    }
    EXPECT_EQ(before.on_device, n.total());
  }
}

// Some may stay in the file; whatever the budgets, each piece is somewhere, and no budget is passed.
TEST(Placement, WhatHostMemoryHasNoRoomForStaysInTheFile) {
  const std::vector<GgufTensor> tensors(64);
  std::mt19937 rng(2);
  for (int round = 0; round < 100; ++round) {
    Needs n = random_needs(rng, tensors);
    for (WeightPiece& piece : n.pieces) {
      if (piece.kind == head || piece.kind == embedding) continue;
      piece.file_bytes = piece.bytes;
      piece.saved = piece.read / 5;
    }
    for (const bool one_memory : {false, true}) {
      uint64_t in_file = UINT64_MAX;
      const uint64_t vram = one_memory ? 0 : rng() % (n.total() + 1);
      for (uint64_t ram = 0; ram <= n.total() + 5; ++ram) {
        const Budgets budgets{one_memory ? ram : vram, ram, one_memory, /*fives=*/!one_memory};
        const Placement p = place(n.fixed, n.pieces, budgets);
        uint64_t sums[3] = {n.fixed, 0, 0}, stays = 0;
        for (size_t i = 0; i < p.pieces.size(); ++i) {
          sums[static_cast<int>(p.homes[i])] += p.pieces[i].bytes;
          if (p.pieces[i].file_bytes != 0) continue;
          EXPECT_NE(p.homes[i], Home::file);
          if (one_memory || p.homes[i] == Home::host) stays += p.pieces[i].bytes;
        }
        EXPECT_THAT(sums, testing::ElementsAre(p.on_device, p.in_host, p.in_file));
        EXPECT_LE(one_memory ? p.on_device : p.in_host, std::max(ram, stays + (one_memory ? n.fixed : 0)));
        EXPECT_LE(p.in_file, in_file);
        in_file = p.in_file;
      }
      EXPECT_EQ(in_file, 0U);
    }
  }
}

TEST(Placement, NamesTheLeastMemoryWithWhichTheRestCanBeReadFromTheFile) {
  const std::vector<GgufTensor> tensors(40);
  std::vector<WeightPiece> pieces = {{head, 0, 500, 500, &tensors[0]}};
  for (uint32_t i = 1; i < 40; ++i) pieces.push_back({feed_forward, i, 10'000, 10'000, &tensors[i], 9'000});
  const uint64_t least = least_ram(7, pieces, {.vram = 7});
  const Placement p = place_with_file(7, pieces, {.vram = 7, .ram = least});
  EXPECT_EQ(p.in_host, 500U);
  EXPECT_EQ(p.in_file, 390'000U);
  EXPECT_GE(p.places, 10'000U);
  EXPECT_EQ(p.for_reading, kWeightPlaces * p.places + kWeightReaders * 9'000);
  EXPECT_EQ(p.in_host + p.for_reading, least);
  const Placement more = place_with_file(7, pieces, {.vram = 7, .ram = least + 25'000});
  EXPECT_EQ(more.in_host, 20'500U);
  EXPECT_EQ(place_with_file(7, pieces, {.vram = 7, .ram = 390'500}).in_file, 0U);
}

TEST(Placement, GivesTheDeviceToTheHeadThenAttentionThenTheFirstFeedForwards) {
  const std::vector<GgufTensor> tensors(6);
  const std::vector<WeightPiece> pieces = {
      {embedding, 0, 50, 1, &tensors[0]},     {attention, 0, 10, 10, &tensors[1]},
      {feed_forward, 0, 30, 30, &tensors[2]}, {attention, 1, 10, 10, &tensors[3]},
      {feed_forward, 1, 30, 30, &tensors[4]}, {head, 0, 50, 50, &tensors[5]},
  };
  const auto on_device = [&](uint64_t vram) {
    const Placement p = place(7, pieces, {.vram = vram});
    std::string list;
    for (const GgufTensor& t : tensors) list += p.home_of(t) == Home::device ? 'd' : 'h';
    return list;
  };
  EXPECT_EQ(on_device(0), "hhhhhh");
  EXPECT_EQ(on_device(7 + 50), "hhhhhd");
  EXPECT_EQ(on_device(7 + 70), "hdhdhd");
  EXPECT_EQ(on_device(7 + 100), "hdddhd");
  EXPECT_EQ(on_device(7 + 130), "hddddd");
  EXPECT_EQ(on_device(7 + 180), "dddddd");
  EXPECT_EQ(on_device(7 + 49), "hdhdhh");  // a head that does not fit leaves its room to others
  EXPECT_EQ(place(7, pieces, {}).home_of(GgufTensor{}), Home::device);
}

TEST(Placement, LeavesOutLayersThatLieFarFromEachOther) {
  const std::vector<GgufTensor> tensors(12);
  std::vector<WeightPiece> pieces;
  for (uint32_t i = 0; i < 12; ++i) pieces.push_back({feed_forward, i, 10, 10, &tensors[i]});
  const auto on_device = [&](uint64_t vram) {
    const Placement p = place(0, pieces, {.vram = vram});
    std::string list;
    for (const GgufTensor& t : tensors) list += p.home_of(t) == Home::device ? 'd' : 'h';
    return list;
  };
  EXPECT_EQ(on_device(110), "dddddddddddh");
  EXPECT_EQ(on_device(100), "dddhdddddddh");
  EXPECT_EQ(on_device(90), "dddhdddhdddh");
  EXPECT_EQ(on_device(60), "dhdhdhdhdhdh");
}

TEST(Placement, PiecesOfAModelAreAllThatItsPlanHasBesideWhatIsFixed) {
  const Checkpoint file(BITNET_TEST_MODEL);
  const MemoryPlan plan = plan_memory(file, 64);
  const ModelInfo m = read_model_info(file);
  ASSERT_EQ(plan.pieces.size(), 4 * m.n_layer + (m.tied_head ? 1 : 2));
  uint64_t bytes = 0, read = 0;
  for (const WeightPiece& p : plan.pieces) {
    bytes += p.bytes;
    read += p.read;
    EXPECT_LE(p.read, p.bytes);
  }
  EXPECT_GE(bytes, plan.projections + plan.embedding);
  EXPECT_LE(bytes, plan.projections + plan.embedding + plan.pieces.size() * 1024);
  EXPECT_EQ(read, plan.projections + plan.head);
}

// With more room there are more places, until all experts lie on the device. Without room for all in host
// memory matrices are placed as a whole.
TEST(Placement, ExpertsThatDoNotAllFitGetPlacesInEachMatrix) {
  constexpr uint32_t kLayers = 5, kExperts = 16, kUsed = 4;
  const std::vector<GgufTensor> tensors(2 + 3 * kLayers);
  MemoryPlan plan;
  plan.activations = 1000;
  const auto add = [&](WeightPiece::Kind kind, uint32_t layer, uint64_t bytes, uint64_t read) {
    plan.pieces.push_back({kind, layer, bytes, read, &tensors[plan.pieces.size()]});
  };
  add(head, 0, 5000, 5000);
  add(embedding, 0, 50000, 10);
  for (uint32_t i = 0; i < kLayers; ++i) {
    add(attention, i, 3000, 3000);
    for (const uint64_t bytes : {32000, 16000}) {
      add(experts, i, bytes, bytes * kUsed / kExperts);
      plan.pieces.back().n_expert = kExperts;
      plan.pieces.back().n_used = kUsed;
    }
  }
  DeviceInfo device;
  device.has_slots = true;
  EngineOptions options;
  const uint64_t all = place(plan.fixed(), plan.pieces, {}).on_device;
  Placement before = place_model(plan, device, {.vram = {VramBudget::Kind::bytes, plan.fixed()}});
  EXPECT_EQ(before.expert_places, 0U);
  for (uint64_t vram = plan.fixed(); vram <= all; vram += 500) {
    options.vram = {VramBudget::Kind::bytes, vram};
    options.ram = kNoLimit;
    const Placement p = place_model(plan, device, options);
    EXPECT_LE(p.on_device, vram);
    if (before.expert_places != 0) {
      EXPECT_GE(p.on_device, before.on_device);
      EXPECT_LE(p.read_in_host, before.read_in_host);
    }
    EXPECT_EQ(p.read_on_device + p.read_in_host, before.read_on_device + before.read_in_host);
    if (p.expert_places == 0 && before.expert_places != 0) {
      EXPECT_EQ(p.read_in_host, 10U);
      break;
    }
    EXPECT_GE(p.expert_places, before.expert_places);
    if (p.expert_places != 0) {
      options.ram = p.in_host - 1;
      EXPECT_EQ(place_model(plan, device, options).expert_places, 0U);
    }
    for (size_t i = 0; i < p.pieces.size() && p.expert_places != 0; ++i)
      EXPECT_TRUE(p.pieces[i].kind != experts || p.homes[i] == Home::host);
    before = p;
  }
  EXPECT_EQ(before.expert_places, kExperts - 1);
}

// A plan of equal pieces that may stay in the file.
constexpr uint64_t kPiece = (1 << 30) / 4;
constexpr uint32_t kPieces = 40;
MemoryPlan ten_gigabytes() {
  static const std::vector<GgufTensor> tensors(kPieces);
  MemoryPlan plan;
  for (uint32_t i = 0; i < kPieces; ++i)
    plan.pieces.push_back({.kind = feed_forward,
                           .layer = i,
                           .bytes = kPiece,
                           .read = kPiece,
                           .tensor = &tensors[i],
                           .file_bytes = kPiece});
  return plan;
}

// Of its own memory and of the computer's a driver gives a device only so much; the rest stays in the file.
TEST(Placement, WhatADriverHasNoMemoryForStaysInTheFile) {
  const MemoryPlan plan = ten_gigabytes();
  DeviceInfo device;
  device.unified = true;
  device.free_bytes = kPieces * kPiece;
  const Placement unified = place_model(plan, device, {});
  EXPECT_LT(unified.on_device + unified.for_reading, device.free_bytes);
  EXPECT_GT(unified.in_file, 0U);
  EXPECT_EQ(unified.in_host, 0U);

  device.unified = false;
  device.free_bytes = 10 * kPiece;
  constexpr uint64_t kOthers = (kPieces - 9) * kPiece;        // a margin is left
  EXPECT_EQ(place_model(plan, device, {}).in_host, kOthers);  // nothing is known of the computer's
  device.free_host_bytes = 20 * kPiece;
  const Placement both = place_model(plan, device, {});
  EXPECT_EQ(both.on_device, 9 * kPiece);
  EXPECT_LT(both.in_host + both.for_reading, device.free_host_bytes);
  EXPECT_GT(both.in_host, 0U);
  EXPECT_GT(both.in_file, 0U);
  EXPECT_EQ(place_model(plan, device, {.ram = kOthers}).in_host, kOthers);  // as somebody wants it

  device.software = true;
  device.unified = true;
  EXPECT_EQ(place_model(plan, device, {}).on_device, kPieces * kPiece);
}

// Whoever asks is told what the engine does; without a number that is less than all memory.
TEST(Placement, OfAModelThatMemoryIsTooSmallForTheCpuLeavesAPartInTheFile) {
  MemoryPlan plan = ten_gigabytes();
  plan.head_copy = kPiece;
  constexpr uint64_t kAll = kPieces * kPiece;
  DeviceInfo device;
  device.cpu = true;
  device.memory_bytes = kAll;
  const Placement p = place_model(plan, device, {});
  EXPECT_GT(p.in_file, 0U);
  EXPECT_GT(p.on_device, kAll / 2);
  EXPECT_LT(p.on_device + p.for_reading, device.memory_bytes);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll}).in_file, 0U);  // as somebody wants it

  // What is there for speed alone takes no weight's place.
  EXPECT_EQ(place_model(plan, device, {.ram = kAll + kPiece - 1}).head_copy, 0U);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll + kPiece - 1}).on_device, kAll);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll + kPiece}).head_copy, kPiece);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll + kPiece}).on_device, kAll + kPiece);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll - 1}).head_copy, 0U);
  device.memory_bytes = 4 * kAll;
  EXPECT_EQ(place_model(plan, device, {}).on_device, kAll + kPiece);
  device.memory_bytes = 0;  // not known
  EXPECT_EQ(place_model(plan, device, {}).on_device, kAll + kPiece);

  // Of one memory, what the session will take of it as its text grows is no room for weights.
  plan.snapshots = kPiece;
  EXPECT_GT(place_model(plan, device, {.ram = kAll + kPiece - 1}).in_file, 0U);
  EXPECT_EQ(place_model(plan, device, {.ram = kAll + kPiece}).in_file, 0U);

  // But it takes an eighth in front of them at most, behind them what is left, and nothing is refused for it.
  plan.snapshots = kAll;
  const Placement some = place_model(plan, device, {.ram = kAll});
  EXPECT_GE(some.snapshots, kAll / 8);
  EXPECT_LE(some.on_device + some.for_reading, kAll);
  EXPECT_LT(place_model(plan, device, {.ram = 2 * kAll - 1}).snapshots, kAll);
  EXPECT_EQ(place_model(plan, device, {.ram = 2 * kAll}).snapshots, kNoLimit);
  EXPECT_EQ(place_model(plan, device, {.ram = 2 * kAll}).on_device, 2 * kAll);
  EXPECT_EQ(place_model(plan, device, {}).on_device, 2 * kAll + kPiece);
  const Placement least = place_model(plan, device, {.ram = 7 * kPiece});
  EXPECT_LE(least.on_device + least.for_reading, 7 * kPiece);
}

TEST(Placement, SizesAreNamedAsOptionsTakeThemAndRoundedUp) {
  EXPECT_EQ(size_option(0), "0M");
  EXPECT_EQ(size_option(1), "1K");
  EXPECT_EQ(size_option(20 << 10), "20K");
  EXPECT_EQ(size_option(16 << 20), "16M");
  EXPECT_EQ(size_option((16 << 20) + 1), "16385K");
  EXPECT_EQ(size_option((uint64_t{2} << 30) + 1), "2049M");
}

}  // namespace
}  // namespace bitnet
