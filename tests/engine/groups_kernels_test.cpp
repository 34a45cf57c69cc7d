// Compares the kernels of matrices of groups with the formula of engine/backend.h: the integers must be
// equal, the input may differ by what f32 allows. The kernels of few tokens and of many must agree in every
// bit.
#include <cmath>
#include <numeric>

#include "tests/engine/groups.h"

namespace bitnet {
namespace {

struct GroupsCase {
  uint32_t n_in, scale_every;
  Input input;
};

const std::vector<GroupsCase> kGroupsCases = {{64, 64, Input::int8_row},     {2048, 256, Input::int8_row},
                                              {320, 64, Input::int8_units},  {384, 128, Input::int8_units},
                                              {832, 832, Input::int8_units},  // one scale a row
                                              {448, 64, Input::int16_units}, {896, 128, Input::int16_units}};
const std::vector<GroupsCase> kFewGroupsCases = {kGroupsCases[1], kGroupsCases[6]};

std::string describe(const GroupsCase& c) {
  return std::to_string(c.n_in) + " inputs, a scale every " + std::to_string(c.scale_every) +
         (c.input == Input::int8_row     ? ", rounded by rows"
          : c.input == Input::int8_units ? ", by units"
                                         : ", to 16 bits");
}

double activated(double gate, Act act) {
  if (act == Act::silu) return gate / (1 + std::exp(-gate));
  return gate > 0 ? gate * gate : 0;
}

class GroupKernels : public Kernels {
 protected:
  void SetUp() override {
    Kernels::SetUp();
    if (!IsSkipped() && backend->group_layout() != Layout::groups) GTEST_SKIP() << "another layout";
  }

  // On a software device the kernel of stages takes seconds to compile for each way to build it.
  bool takes_long() const {
    const Variant& v = GetParam();
    return v.as_gpu && backend->device().software &&
           (v.dot != IntegerDot::never || v.subgroup_size % 64 != 0);
  }
};

// Powers of two as s and scales of the parts keep the last step exact, so that equality shows the integers.
TEST_P(GroupKernels, ProductsEqualTheIntegers) {
  for (const GroupsCase& c : kGroupsCases) {
    const Grouped g = random_groups(*backend, c.n_in, {65, 32, 3}, c.scale_every, c.input, rng);
    for (const uint32_t n : {1U, 3U, 8U, 35U}) {
      SCOPED_TRACE(describe(c) + ", tokens: " + std::to_string(n));
      RoundedRows q = random_rounded_rows(*backend, g.matrix, n, rng);
      q.fused = fuses(*backend);
      const auto stored = product(g.matrix, q.device, Out::Kind::store, Act::relu2, n),
                 added = product(g.matrix, q.device, Out::Kind::add, Act::relu2, n);
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t row = 0; row < g.matrix.rows(); ++row) {
          const float wanted = grouped_result(g, row, q, t);
          ASSERT_EQ(stored[t * g.matrix.rows() + row], wanted) << "token " << t << " row " << row;
          ASSERT_EQ(added[t * g.matrix.rows() + row], 4.0F + wanted) << "token " << t << " row " << row;
        }
    }
  }
}

TEST_P(GroupKernels, GatesAreActivated) {
  for (const GroupsCase& c : kFewGroupsCases)
    for (const Act act : {Act::relu2, Act::silu})
      for (const uint32_t n : {1U, 8U}) {
        SCOPED_TRACE(describe(c) + ", tokens: " + std::to_string(n));
        Grouped g = random_groups(*backend, c.n_in, {70, 70}, c.scale_every, c.input, rng);
        RoundedRows q = random_rounded_rows(*backend, g.matrix, n, rng);
        q.fused = fuses(*backend);
        // Gates from -100 to 100: all of silu's curve and more.
        g.matrix.parts[0].scale *= 0x1p-3F / std::sqrt(c.n_in) / static_cast<float>(steps_of(c.input));
        const auto found = product(g.matrix, q.device, Out::Kind::gate, act, n);
        for (uint32_t t = 0; t < n; ++t)
          for (uint32_t row = 0; row < 70; ++row) {
            const double wanted =
                activated(grouped_result(g, row, q, t), act) * grouped_result(g, 70 + row, q, t);
            ASSERT_NEAR(found[t * 70 + row], wanted, std::abs(wanted) * 2e-6 + 1e-30)
                << "token " << t << " row " << row << " gate " << grouped_result(g, row, q, t);
          }
      }
}

// Where a device multiplies matrices and has more multiprocessors than tiles, several workgroups split the
// inputs of each (engine/vk/split_tiles.h).
TEST_P(GroupKernels, TilesThatAreSplitHaveTheSumsOfTheirFormula) {
  if (GetParam().dot != IntegerDot::matrix) GTEST_SKIP() << "has no tiles of matrices";
  constexpr uint32_t kIn = 2176, kTokens = 70;
  for (const Input input : {Input::int8_units, Input::int16_units})
    for (const uint32_t every : {64U, 128U}) {
      SCOPED_TRACE(describe({kIn, every, input}));
      const Grouped g = random_groups(*backend, kIn, {550, 550}, every, input, rng);
      RoundedRows q = random_rounded_rows(*backend, g.matrix, kTokens, rng);
      q.fused = fuses(*backend);
      for (int again = 0; again < 2; ++again) {  // what counts the workgroups is as it was
        const auto added = product(g.matrix, q.device, Out::Kind::add, Act::relu2, kTokens),
                   gates = product(g.matrix, q.device, Out::Kind::gate, Act::relu2, kTokens);
        for (uint32_t t = 0; t < kTokens; ++t)
          for (uint32_t row = 0; row < 550; ++row) {
            const float gate = grouped_result(g, row, q, t), up = grouped_result(g, 550 + row, q, t);
            ASSERT_EQ(added[t * 1100 + row], 4.0F + gate) << "token " << t << " row " << row;
            ASSERT_EQ(added[t * 1100 + 550 + row], 4.0F + up) << "token " << t << " row " << 550 + row;
            const double wanted = activated(gate, Act::relu2) * up;
            ASSERT_NEAR(gates[t * 550 + row], wanted, std::abs(wanted) * 2e-6 + 1e-30)
                << "token " << t << " row " << row;
          }
      }
    }
}

TEST_P(GroupKernels, SiluIsTakenOnTritsToo) {
  for (const uint32_t n : {1U, 8U}) {
    const Ternary w = random_ternary(*backend, 256, {{70, 0.01F}, {70, 0.25F}}, rng);
    std::vector<int8_t> q(n * 256);
    for (int8_t& v : q) v = static_cast<int8_t>(static_cast<int>(rng() % 256) - 128);
    std::vector<uint32_t> info;
    for (uint32_t t = 0; t < n; ++t) {
      int32_t sum = 0;
      for (uint32_t i = 0; i < 256; ++i) sum += q[t * 256 + i];
      info.insert(info.end(), {std::bit_cast<uint32_t>(1.0F), static_cast<uint32_t>(sum)});
    }
    const Quantised device{put(*backend, q), put(*backend, info), nullptr};
    const auto found = product(w.matrix, device, Out::Kind::gate, Act::silu, n);
    for (uint32_t t = 0; t < n; ++t)
      for (uint32_t row = 0; row < 70; ++row) {
        double gate = 0, up = 0;
        for (uint32_t i = 0; i < 256; ++i) {
          gate += w.weights[row * 256 + i] * q[t * 256 + i] * double{0.01F};
          up += w.weights[(70 + row) * 256 + i] * q[t * 256 + i] * 0.25;
        }
        const double wanted = activated(gate, Act::silu) * up;
        ASSERT_NEAR(found[t * 70 + row], wanted, std::abs(wanted) * 2e-6 + 1e-30) << gate;
      }
  }
}

TEST_P(GroupKernels, FewTokensHaveTheBitsOfMany) {
  for (const GroupsCase& c : kFewGroupsCases)
    for (const auto& [kind, act] : {std::pair{Out::Kind::store, Act::relu2},
                                    {Out::Kind::add, Act::relu2},
                                    {Out::Kind::gate, Act::relu2},
                                    {Out::Kind::gate, Act::silu}}) {
      SCOPED_TRACE(describe(c));
      Grouped g = random_groups(*backend, c.n_in, {70, 70}, c.scale_every, c.input, rng);
      for (Matrix::Part& part : g.matrix.parts) part.scale *= 0.7F * (act == Act::silu ? 1e-5F : 1.0F);
      const RoundedRows q = random_rounded_rows(*backend, g.matrix, 35, rng);
      const auto many = product(g.matrix, q.device, kind, act, 35);
      for (const uint32_t n : {1U, 3U, 8U}) {
        const auto few = product(g.matrix, q.device, kind, act, n);
        EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << n << " tokens";
      }
    }
}

TEST_P(GroupKernels, InputsAreRoundedLikeTheFormula) {
  std::normal_distribution<float> normal;
  for (const bool normed : {true, false})
    for (const Input input : {Input::int8_row, Input::int8_units})
      for (const uint32_t n : {64U, 320U, 4096U}) {
        const bool units = input == Input::int8_units;
        SCOPED_TRACE(std::to_string(n) + (input == Input::int8_units ? " units" : " rows"));
        constexpr uint32_t kRows = 4, kFirst = 2;
        std::vector<float> x(size_t{kRows + kFirst} * n), weight(n);
        for (size_t i = 0; i < x.size(); ++i)  // units of all sizes, and one of zeros
          x[i] = i / 64 % 5 == 4 ? 0 : normal(rng) * std::exp2(5 - static_cast<float>(i / 64 % 7));
        for (float& v : weight) v = 1 + 0.1F * normal(rng);
        std::fill_n(x.end() - n, n, 0.0F);  // must not divide by zero
        for (uint32_t i = 0; i < n; ++i)
          x[(kFirst + kRows - 2) * size_t{n} + i] *= 1e-9F;  // less than 1e-5, normed or not
        const BufferPtr device_x = put(*backend, x);
        const Norm norm = normed ? rms_of(put(*backend, weight), 1e-5F) : Norm{};
        Matrix w;
        w.n_in = n;
        w.layout = Layout::groups;
        w.input = input;
        w.scale_every = 64;
        const Quantised q = quantised_for(*backend, n, kRows);
        run(*backend, [&](Recorder& r) { r.quantise(w, {*device_x, norm, q, kFirst}, kRows); });
        const auto got = get<int8_t>(*backend, *q.q, size_t{kRows} * n);
        const auto info = get<uint32_t>(*backend, *q.info, 2 * kRows);
        const auto sums = get<int32_t>(*backend, *q.sums, kRows * n / 64);
        const auto scales = get<float>(*backend, *q.scales, kRows * n / 64);
        for (uint32_t t = 0; t < kRows; ++t) {
          const float* row = &x[size_t{kFirst + t} * n];
          double squares = 0;
          for (uint32_t i = 0; i < n; ++i) squares += double{row[i]} * row[i];
          const double inverse = normed ? 1 / std::sqrt(squares / n + 1e-5) : 1;
          const auto y = [&](uint32_t i) { return row[i] * inverse * (normed ? weight[i] : 1.0F); };
          const auto largest = [&](uint32_t from, uint32_t to) {
            double most = 0;
            for (uint32_t i = from; i < to; ++i) most = std::max(most, std::abs(y(i)));
            return most;
          };
          const double of_row = largest(0, n), s = 127 / std::max(units || normed ? 1e-30 : 1e-5, of_row);
          for (uint32_t first = 0; first < n; first += 64) {
            const double of_unit = largest(first, first + 64), factor = units ? 127 / of_unit : s;
            for (uint32_t i = first; i < first + 64; ++i)
              ASSERT_NEAR(got[size_t{t} * n + i], of_unit == 0 ? 0 : y(i) * factor, 0.501) << t << " " << i;
            const uint32_t at = t * (n / 64) + first / 64;
            ASSERT_EQ(sums[at],
                      std::accumulate(&got[size_t{t} * n + first], &got[size_t{t} * n + first] + 64, 0));
            if (units && of_row != 0) {
              ASSERT_NEAR(scales[at], of_unit / of_row, 1e-6);
            }
            ASSERT_FALSE(std::isnan(scales[at]));
          }
          EXPECT_NEAR(std::bit_cast<float>(info[2 * t]), s, s * 1e-5);
        }
      }
}

// A vector that is its own rounding, so that s is 1 and the result exact; with units 128 / 127 times as much
// and less from unit to unit, so that their scales are exact. Up to 24576 rows: as many as need several a
// lane.
TEST_P(GroupKernels, OneTokenEqualsTheIntegers) {
  if (takes_long()) GTEST_SKIP() << "others show the same";
  for (const auto& [c, rows] : {std::pair{kGroupsCases[1], 70U},
                                {kGroupsCases[4], 70U},
                                {kGroupsCases[2], 12'500U},
                                {kGroupsCases[0], 24'600U},
                                {GroupsCase{6912, 256, Input::int8_units}, 70U}}) {
    SCOPED_TRACE(describe(c) + ", rows: " + std::to_string(rows));
    const bool units = c.input == Input::int8_units;
    const Grouped g = random_groups(*backend, c.n_in, {rows - 5, 2, 3}, c.scale_every, c.input, rng);
    RoundedRows q{c.n_in, 64, {}, {units ? 127.0F / 128 : 1.0F}, {}, quantised_for(*backend, c.n_in)};
    q.fused = fuses(*backend);
    std::vector<float> values;
    for (uint32_t i = 0; i < c.n_in; ++i) {
      q.q.push_back(i % 64 == 0 ? 127 : static_cast<int32_t>(rng() % 255) - 127);
      if (i % 64 == 0) q.scales.push_back(units ? std::exp2(-static_cast<float>(i / 64 % 5)) : 1.0F);
      const auto value = static_cast<float>(q.q[i]);
      values.push_back(!units ? value : (i % 64 == 0 ? 128 : value * (128.0F / 127)) * q.scale(0, i));
    }
    const BufferPtr x = put(*backend, values);
    const BufferPtr y = put(*backend, std::vector<float>(rows, 4.0F));
    const Norm none;
    run(*backend, [&](Recorder& r) { r.linear(g.matrix, {*x, none, q.device}, add(*y), 1); });
    const auto found = get<float>(*backend, *y, rows);
    for (uint32_t row = 0; row<rows; row += rows> 100 && row > 100 && row + 100 < rows ? 61 : 1) {
      const float wanted = 4.0F + grouped_result(g, row, q, 0);
      ASSERT_NEAR(found[row], wanted, units ? 1e-6F * std::abs(wanted) : 0) << row;
    }
  }
}

// The layers of a token and a product of many rows behind them, in one program and step by step, with all
// norms, with those in front of layers and without; and of three tokens, which a workgroup of so many rows
// takes one after the other.
TEST_P(GroupKernels, ATokenHasTheBitsOfItsSteps) {
  if (takes_long()) GTEST_SKIP() << "others show the same";
  enum class Norms { all, some, none };
  struct Case {
    Input input;
    Act act;
    Norms norms;
  };
  for (const auto& [input, act, norms] : {Case{Input::int8_row, Act::relu2, Norms::all},
                                          {Input::int8_units, Act::silu, Norms::some},
                                          {Input::int8_units, Act::silu, Norms::none},
                                          {Input::int16_units, Act::silu, Norms::some}}) {
    constexpr uint32_t kEmbd = 512, kHeads = 768, kRows = 9000;
    const uint32_t n_ff = backend->device().software ? 2048 : 9216;  // more rows than workgroups take at once
    const auto matrix = [&, input = input](uint32_t n_in, std::vector<uint32_t> rows) {
      Grouped g = random_groups(*backend, n_in, std::move(rows), 128, input, rng);
      for (Matrix::Part& part : g.matrix.parts) part.scale *= 0.37F;
      if (input == Input::int16_units) g.matrix.rotation = random_rotation(*backend, n_in, rng);
      return g;
    };
    const Grouped into = matrix(kEmbd, {500, 200, 68}), out = matrix(kHeads, {kEmbd}),
                  gate_up = matrix(kEmbd, {n_ff, n_ff}), down = matrix(n_ff, {kEmbd}),
                  many = matrix(kEmbd, {kRows});
    const auto norm = [&](uint32_t n, bool there) {
      return there ? rms_of(put(*backend, normal_floats(n, rng)), 1e-5F) : Norm{};
    };
    const Norm embd_norm = norm(kEmbd, norms != Norms::none), heads_norm = norm(kHeads, norms == Norms::all),
               ff_norm = norm(n_ff, norms == Norms::all);
    constexpr uint32_t kMost = 3;
    const Quantised q = quantised_for(*backend, n_ff, kMost);
    const std::vector<float> start = normal_floats(kMost * kEmbd, rng);
    const auto tokens = [&, act = act](uint32_t n, bool steps) {
      const BufferPtr x = put(*backend, start), o = put(*backend, std::vector<float>(n * kHeads)),
                      h = put(*backend, std::vector<float>(n * n_ff)),
                      y = put(*backend, std::vector<float>(n * kRows));
      run(*backend, [&](Recorder& r) {
        const auto linear = [&](const Grouped& g, const BufferPtr& from, const Norm& norm, const Out& to) {
          const In in{*from, norm, q};
          if (steps) r.Recorder::linear(g.matrix, in, to, n);
          if (!steps) r.linear(g.matrix, in, to, n);
        };
        for (int layer = 0; layer < 3; ++layer) {
          linear(into, x, embd_norm, store(*o));
          linear(out, o, heads_norm, add(*x));
          linear(gate_up, x, embd_norm, gate(*h, act));
          linear(down, h, ff_norm, add(*x));
        }
        linear(many, x, embd_norm, store(*y));
      });
      return get<float>(*backend, *y, n * kRows);
    };
    EXPECT_EQ(tokens(1, false), tokens(1, true));
    if (input != Input::int8_units || norms == Norms::none || GetParam().subgroup_size != 0)
      continue;  // others compile for long
    EXPECT_EQ(tokens(kMost, false), tokens(kMost, true));
  }
}

// Units of gates, of 64 or 128 rows, that do not divide evenly among three workgroups, in sets of 128 rows:
// of 13 sets each takes four and one is split, of five more would be split than stay whole, and of 20 two
// are.
TEST_P(GroupKernels, SplitUnitsHaveTheBitsOfTheirSteps) {
  if (GetParam().groups_at_once == kManyGroups) GTEST_SKIP() << "all sets run at a time";
  constexpr uint32_t kEmbd = 256;
  struct Case {
    uint32_t n_ff, every;
  };
  for (const Case& c :
       {Case{13 * 128, 64}, {5 * 128, 64}, {20 * 128, 64}, {13 * 128, 128}, {20 * 128, 128}}) {
    const uint32_t n_ff = c.n_ff, every = c.every;
    SCOPED_TRACE(std::to_string(n_ff) + ", a scale every " + std::to_string(every));
    const Grouped gate_up = random_groups(*backend, kEmbd, {n_ff, n_ff}, every, Input::int16_units, rng),
                  down = random_groups(*backend, n_ff, {kEmbd}, every, Input::int16_units, rng);
    const Norm norm = rms_of(put(*backend, normal_floats(kEmbd, rng)), 1e-5F), none;
    const Quantised q = quantised_for(*backend, n_ff);
    const std::vector<float> start = normal_floats(kEmbd, rng);
    const auto token = [&](bool steps) {
      const BufferPtr x = put(*backend, start), h = put(*backend, std::vector<float>(n_ff));
      run(*backend, [&](Recorder& r) {
        const auto linear = [&](const Grouped& g, const In& in, const Out& out) {
          if (steps) r.Recorder::linear(g.matrix, in, out, 1);
          if (!steps) r.linear(g.matrix, in, out, 1);
        };
        for (int layer = 0; layer < 2; ++layer) {
          linear(gate_up, {*x, norm, q}, gate(*h, Act::silu));
          linear(down, {*h, none, q}, add(*x));
        }
      });
      std::vector<float> found = get<float>(*backend, *x, kEmbd);
      const std::vector<float> last_gates = get<float>(*backend, *h, n_ff);
      found.insert(found.end(), last_gates.begin(), last_gates.end());
      return found;
    };
    EXPECT_EQ(token(false), token(true));
  }
}

// An input of 16 bits is so fine that a product is nearly that of floats, for a token and for several.
TEST_P(GroupKernels, InputsOfInt16AreNearlyFloats) {
  if (takes_long()) GTEST_SKIP() << "others show the same";
  constexpr uint32_t kIn = 384, kOut = 70;
  Grouped g = random_groups(*backend, kIn, {kOut, kOut}, 128, Input::int16_units, rng);
  const auto exact = [&](uint32_t row, const float* x) {
    double sum = 0;
    for (uint32_t i = 0; i < kIn; ++i)
      sum += double{g.weights[size_t{row} * kIn + i] * from_half(g.scales[(size_t{row} * kIn + i) / 128])} *
             x[i];
    return sum * g.matrix.parts[row / kOut].scale * g.matrix.fixed;
  };
  for (const uint32_t n : {1U, 6U}) {
    const std::vector<float> x = normal_floats(size_t{n} * kIn, rng);
    const BufferPtr device_x = put(*backend, x);
    for (const Out::Kind kind : {Out::Kind::store, Out::Kind::add, Out::Kind::gate}) {
      SCOPED_TRACE(std::to_string(n) + " tokens, " + std::to_string(static_cast<int>(kind)));
      const uint32_t n_out = kind == Out::Kind::gate ? kOut : 2 * kOut;
      const BufferPtr y = put(*backend, std::vector<float>(size_t{n} * n_out, 4.0F));
      const Quantised q = quantised_for(*backend, kIn, n);
      run(*backend, [&](Recorder& r) {
        r.linear(g.matrix, {*device_x, Norm(), q}, {*y, kind, Act::silu}, n);
      });
      const auto found = get<float>(*backend, *y, size_t{n} * n_out);
      for (uint32_t t = 0; t < n; ++t)
        for (uint32_t row = 0; row < n_out; ++row) {
          const float* input = &x[size_t{t} * kIn];
          double wanted = exact(row, input);
          if (kind == Out::Kind::add) wanted += 4;
          if (kind == Out::Kind::gate) wanted = activated(wanted, Act::silu) * exact(row + kOut, input);
          ASSERT_NEAR(found[t * n_out + row], wanted, 1e-3) << "token " << t << " row " << row;
        }
    }
  }
}

class GroupTiles : public GroupKernels {};

// A device's matrices make tiles of as many sizes as there are numbers of outputs here
// (engine/vk/kernels.cpp); neither rows nor tokens nor groups fill the last one.
TEST_P(GroupTiles, EachSizeEqualsTheIntegers) {
  constexpr uint32_t kRows = 2500, kSamples = 2000;
  for (const Input input : {Input::int8_units, Input::int16_units}) {
    const Grouped g = random_groups(*backend, 192, {kRows, kRows}, 64, input, rng);
    for (const uint32_t n : {20U, 60U, 199U, 401U, 601U, 1301U}) {
      SCOPED_TRACE(std::to_string(steps_of(input)) + " steps, tokens: " + std::to_string(n));
      RoundedRows q = random_rounded_rows(*backend, g.matrix, n, rng);
      q.fused = fuses(*backend);
      for (const Out::Kind kind : {Out::Kind::store, Out::Kind::add, Out::Kind::gate}) {
        const uint32_t n_out = kind == Out::Kind::gate ? kRows : 2 * kRows;
        const auto found = product(g.matrix, q.device, kind, Act::relu2, n);
        for (uint32_t i = 0; i < kSamples; ++i) {
          const uint32_t t = i % 8 == 0 ? n - 1 : rng() % n, row = i % 9 == 0 ? n_out - 1 : rng() % n_out;
          const float wanted = grouped_result(g, row, q, t), is = found[size_t{t} * n_out + row];
          if (kind == Out::Kind::gate) {
            const double gated = activated(wanted, Act::relu2) * grouped_result(g, kRows + row, q, t);
            ASSERT_NEAR(is, gated, std::abs(gated) * 2e-6 + 1e-30) << "token " << t << " row " << row;
          } else {
            ASSERT_EQ(is, kind == Out::Kind::add ? 4.0F + wanted : wanted) << "token " << t << " row " << row;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, GroupTiles, testing::Values(Variant{"GpuMatrix", IntegerDot::matrix, "", true}),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(On, GroupKernels, testing::ValuesIn(kernel_variants()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace bitnet
