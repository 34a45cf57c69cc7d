#include "repack.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>

#include "engine/engine.h"
#include "engine/layouts/i2s.h"
#include "engine/layouts/pack.h"
#include "engine/threads.h"

namespace bitnet {
namespace {

constexpr uint32_t kMostThreads = 8;  // more do not pack faster than a bus takes the result

uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

}  // namespace

uint32_t RowsToPack::rows() const {
  uint32_t n = 0;
  for (const Part& p : parts) n += p.rows;
  return n;
}

const std::byte* RowsToPack::row(uint32_t r, const GgufTensor*& tensor) const {
  const Part* p = parts.data();
  for (; r >= p->rows; ++p) r -= p->rows;
  if (p->head_dim != 0) r = r / p->head_dim * p->head_dim + rope_row(r % p->head_dim, p->rope_dim);
  tensor = p->tensor;
  return tensor->data.data() + r * find_file_type(tensor->type)->row_bytes(n_in);
}

bool i2s_rows_have_code_3(std::span<const std::byte> codes, uint32_t rows) {
  std::atomic<bool> found = false;
  const uint64_t row_bytes = codes.size() / rows;
  share_rows(0, rows, [&](uint32_t begin, uint32_t end) {
    if (i2s_has_code_3(codes.subspan(begin * row_bytes, (end - begin) * row_bytes))) found = true;
  });
  return found;
}

RowsByExpert rows_by_expert(
    const RowsToPack& stacked, uint32_t n_expert,
    const std::function<std::span<const std::byte>(const RowsToPack::Part&)>& data_of) {
  RowsByExpert by;
  by.rows.n_in = stacked.n_in;
  by.cuts.reserve(stacked.parts.size() * n_expert);
  std::vector<std::span<const std::byte>> data;
  for (const RowsToPack::Part& part : stacked.parts) {
    data.push_back(data_of(part));
    if (data.back().data() == part.tensor->data.data()) continue;
    by.copies.emplace_back(data.back().begin(), data.back().end());
    data.back() = by.copies.back();
  }
  for (uint32_t e = 0; e < n_expert; ++e)
    for (size_t i = 0; i < stacked.parts.size(); ++i) {
      GgufTensor& cut = by.cuts.emplace_back(*stacked.parts[i].tensor);
      const uint64_t bytes = data[i].size() / n_expert;
      cut.data = data[i].subspan(e * bytes, bytes);
      by.rows.parts.push_back({&cut, stacked.parts[i].rows / n_expert});
    }
  return by;
}

void share_rows(uint32_t begin, uint32_t end, const std::function<void(uint32_t, uint32_t)>& work) {
  const uint32_t a_thread =
      ceil_div(ceil_div(end - begin, std::min(kMostThreads, most_threads())), kRowsTogether) * kRowsTogether;
  struct Share {
    uint32_t begin, end;
    std::exception_ptr error;
  };
  std::vector<Share> shares;
  for (uint32_t at = begin; at < end; at += a_thread)
    shares.push_back({at, std::min(end, at + a_thread), {}});
  on_threads(shares.size(), [&](size_t i) {
    Share& s = shares[i];
    try {
      work(s.begin, s.end);
    } catch (...) {
      s.error = std::current_exception();
    }
  });
  for (const Share& s : shares)
    if (s.error) std::rethrow_exception(s.error);
}

Repacker::Repacker(const std::string& path, Layout layout, Layout scales, const RowsToPack& rows,
                   uint32_t scale_every)
    : path_(path),
      layout_(layout),
      scale_layout_(scales),
      rows_(rows),
      type_(*find_file_type(rows.parts[0].tensor->type)),
      scale_every_(scale_every) {}

// Packs rows [begin, end) behind row `first` of packed_, and returns the largest sum of their scales.
double Repacker::pack_some(uint32_t begin, uint32_t end, uint32_t first) {
  const uint32_t n = rows_.n_in, together = has_bands(layout_) ? kRowsTogether : 1;
  const uint32_t n_scales = n / scale_every_, file_scales = n / type_.scale_every;
  std::vector<uint8_t> codes(size_t{together} * n);
  std::vector<uint16_t> of_file(file_scales), scales(size_t{together} * n_scales);
  double largest = 0;
  for (uint32_t r = begin; r < end; r += together) {
    for (uint32_t i = 0; i < together; ++i) {
      if (r + i >= end) {  // past the last row
        std::fill_n(codes.begin() + size_t{i} * n, n, uint8_t{1});
        std::fill_n(scales.begin() + size_t{i} * n_scales, n_scales, uint16_t{0});
        continue;
      }
      const GgufTensor* tensor = nullptr;
      const std::byte* row = rows_.row(r + i, tensor);
      if (!type_.trits(row, n, codes.data() + size_t{i} * n, of_file.data()))
        throw Error(
            ErrorKind::model,
            fmt::format("{}: tensor {} holds {}, wanted ternary weights: the file is damaged or not {}",
                        printable(path_), printable(tensor->name), type_.no_trit, shown_name(tensor->type)));
      const double bound = bound_of_scales(of_file.data(), file_scales, type_.scale_every);
      if (!std::isfinite(bound))
        throw Error(ErrorKind::model,
                    fmt::format("{}: tensor {} holds a scale of NaN or infinity, wanted finite ones",
                                printable(path_), printable(tensor->name)));
      largest = std::max(largest, bound);
      for (uint32_t s = 0; s < n_scales; ++s)
        scales[size_t{i} * n_scales + s] = of_file[s * (scale_every_ / type_.scale_every)];
    }
    const size_t at = r - first;
    std::byte* to = packed_.codes.data() + at * code_bytes(layout_, n);
    const auto pack = layout_ == Layout::fives16    ? pack_fives16
                      : layout_ == Layout::groups16 ? pack_groups16
                                                    : pack_groups;
    pack(codes.data(), n, to);
    uint16_t* scales_to = packed_.scales.data() + at * n_scales;
    if (has_bands(scale_layout_))
      pack_scales16(scales.data(), n_scales, scales_to);
    else
      std::copy(scales.begin(), scales.end(), scales_to);
  }
  return largest;
}

const PackedRows& Repacker::pack(uint32_t begin, uint32_t end) {
  const uint32_t together = has_bands(layout_) ? kRowsTogether : 1;
  const size_t rows = size_t{ceil_div(end - begin, together)} * together;
  packed_.codes.resize(rows * code_bytes(layout_, rows_.n_in));
  packed_.scales.resize(rows * (rows_.n_in / scale_every_));
  share_rows(begin, end, [&](uint32_t from, uint32_t to) {
    const double largest = pack_some(from, to, begin);
    const std::lock_guard lock(mutex_);
    largest_bound_ = std::max(largest_bound_, largest);
  });
  return packed_;
}

}  // namespace bitnet
