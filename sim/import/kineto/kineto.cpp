#include "sim/import/kineto/kineto.h"

#include "sim/core/error.h"

namespace sgsim::import::kineto {
namespace {

int confidence(const FileHead& head) {
  if (head.bytes.find("\"traceEvents\"") != std::string::npos) return 60;
  return 0;
}

}  // namespace

trace::ImportedRun read(const std::vector<std::string>& paths, const Progress&) {
  throw InputError({.file = paths.front(), .where = "", .found = "a Kineto trace", .expected = "a format with a reader", .hint = "the reader is being built"});
}

Format format() {
  return {.name = "kineto", .description = "PyTorch profiler (Kineto) trace, Chrome JSON", .confidence = confidence,
          .read = [](const std::vector<std::string>& paths, const Progress& progress) -> Imported { return read(paths, progress); }};
}

}  // namespace sgsim::import::kineto
