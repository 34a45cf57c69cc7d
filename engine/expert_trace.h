// Which experts tokens had, written to a file: for bench/replay_experts.py, and for tests.
//
// Thread rule: as the Backend.
//
// A line is a position, a layer and the ids of the experts that the token there has in this layer, ascending.
// Errors: Error(runtime) where the file cannot be written or is there already, unless this process made it.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "engine/backend.h"
#include "engine/model/config.h"

namespace bitnet {

class ExpertTrace {
 public:
  // Programs write the ids of their run to one of `places` places of the buffer, of up to max_batch tokens in
  // the first.
  ExpertTrace(Backend& backend, const std::string& path, const Config& config, uint32_t max_batch,
              size_t places);

  const BufferPtr& buffer() const { return buffer_; }  // [n_layer][n * used] u32 in each place
  uint64_t offset(size_t place) const { return place * n_layer_ * used_ * sizeof(uint32_t); }
  // Writes what a run of n tokens left in a place.
  void write(uint32_t position, uint32_t n, size_t place);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::string path_;
  const uint32_t n_layer_, used_;
  BufferPtr buffer_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace bitnet
