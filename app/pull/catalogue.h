// The ternary models that are known by a short name: one table.
//
// It has what their makers and the files themselves say, and leaves out what nobody said. Whether the engine
// runs one follows from `architecture` and `type` (why_not_run in engine/can_run.h).
//
// Thread rule: constant data and free functions; any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "pulled.h"

namespace bitnet {

struct CatalogueRow {
  const char* name;          // by which pull, rm, /model and the command line know it
  const char* title;         // for people
  const char* repo;          // OWNER/REPO on the hub
  const char* file;          // in the repository; "": the one that choose_gguf() takes
  uint64_t bytes = 0;        // of the file; 0: nobody said
  bool rounded = false;      // `bytes` is a round number
  const char* architecture;  // general.architecture
  const char* type;          // of the projections, as ggml writes it
  const char* licence = "";  // "": not known here
  bool is_folder = false;    // a folder of safetensors, which pull does not fetch
};

std::span<const CatalogueRow> catalogue();
const CatalogueRow* find_in_catalogue(std::string_view name);  // nullptr: there is none

ModelName model_name_of(const CatalogueRow& row);
// Where its file is; empty where it was not pulled.
std::string find_pulled(const CatalogueRow& row);
// The file of which a stopped pull left a part beside it (FILE.part); empty: there is none.
std::string begun_file(const ModelName& name);
uint64_t begun_bytes(const CatalogueRow& row);  // of that part; 0: there is none

}  // namespace bitnet
