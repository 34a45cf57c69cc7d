// 'bitnet-chat pull': fetches a model from a hub (Hugging Face) or any URL into the cache (pulled.h).
//
// While it comes, the file is FILE.part. FILE.part.json beside it has {url, etag, size, sha256}, so that a
// later call continues where this one was cut (Range with If-Range). It is renamed to FILE once size and
// SHA-256 are right.
//
// A name may be one of the catalogue (catalogue.h), too.
//
// Thread rule: fetch_model is for any thread. pull is for main's, and SIGINT and SIGTERM are its own while it
// runs.
#pragma once

#include <string>

#include "app/base/output.h"

namespace bitnet {

class PullWatcher;  // pull_progress.h

// Fetches it, unless it is here with the length and the SHA-256 that were published, as far as they were, and
// returns the path of the file. Throws as pull does, and PullStopped.
std::string fetch_model(const std::string& name, PullWatcher& watcher);

// Writes the path of the file to `out`, and progress to `err` if that is a terminal. Returns the exit code:
// 0, 130 or 143. Throws Error(usage) for a name that cannot be one, Error(runtime) for the rest.
int pull(const std::string& name, Output& out, Output& err);

}  // namespace bitnet
