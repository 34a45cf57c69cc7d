#include "expert_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace bitnet {

ExpertTrace::ExpertTrace(Backend& backend, const std::string& path, const Config& config, uint32_t max_batch,
                         size_t places)
    : path_(path),
      n_layer_(config.n_layer),
      used_(config.n_expert_used),
      buffer_(backend.allocate(offset(std::max<size_t>(max_batch, places)), BufferUse::shared)),
      file_(std::fopen(path.c_str(), "w")) {
  if (!file_)
    throw Error(ErrorKind::runtime, fmt::format("{}: {}; name a file that can be written", printable(path),
                                                std::strerror(errno)));
}

void ExpertTrace::write(uint32_t position, uint32_t n, size_t place) {
  const auto* ids = reinterpret_cast<const uint32_t*>(buffer_->mapped().data() + offset(place));
  std::string lines;
  for (uint32_t t = 0; t < n; ++t)
    for (uint32_t layer = 0; layer < n_layer_; ++layer) {
      lines += fmt::format("{} {}", position + t, layer);
      for (uint32_t i = 0; i < used_; ++i)
        lines += fmt::format(" {}", ids[(size_t{layer} * n + t) * used_ + i]);
      lines += '\n';
    }
  if (std::fwrite(lines.data(), 1, lines.size(), file_.get()) != lines.size() ||
      std::fflush(file_.get()) != 0)
    throw Error(ErrorKind::runtime, fmt::format("{}: {}", printable(path_), std::strerror(errno)));
}

}  // namespace bitnet
