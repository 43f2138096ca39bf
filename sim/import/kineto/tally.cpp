#include "sim/import/kineto/tally.h"

namespace sgsim::import::kineto {
namespace {

struct Kind {
  Count count;
  const char* name;
  Severity severity;
};

// info: read or set aside on purpose; warning: repaired, guessed or worth a look; error: dropped or unknown.
constexpr Kind kKinds[] = {
    {Count::events, "events", Severity::info},
    {Count::ops, "operators", Severity::info},
    {Count::annotations, "annotations", Severity::info},
    {Count::python, "python_calls", Severity::info},
    {Count::calls, "runtime_calls", Severity::info},
    {Count::kernels, "kernels", Severity::info},
    {Count::copies, "copies", Severity::info},
    {Count::sets, "memsets", Severity::info},
    {Count::syncs, "sync_records", Severity::info},
    {Count::steps, "steps", Severity::info},
    {Count::collectives, "collectives", Severity::info},
    {Count::metadata, "set_aside.metadata", Severity::info},
    {Count::flows, "set_aside.arrows", Severity::info},
    {Count::instants, "set_aside.instants", Severity::info},
    {Count::device_annotations, "set_aside.device_annotations", Severity::info},
    {Count::markers, "set_aside.markers", Severity::info},
    {Count::counters, "set_aside.counters", Severity::info},
    {Count::list_root, "repaired.list_root", Severity::info},
    {Count::unterminated, "repaired.file_ends_early", Severity::warning},
    {Count::packed_cut, "repaired.gzip_ends_early", Severity::warning},
    {Count::checksum, "gzip_checksum", Severity::warning},
    {Count::quotes, "repaired.unescaped_quotes", Severity::warning},
    {Count::base_time, "base_time_added", Severity::info},
    {Count::nanosecond_times, "guessed.times_are_nanoseconds", Severity::warning},
    {Count::lossy_time, "guessed.time_with_exponent", Severity::warning},
    {Count::bytes_not_utf8, "repaired.names_not_utf8", Severity::warning},
    {Count::duration_missing, "repaired.duration_missing", Severity::warning},
    {Count::duration_negative, "repaired.duration_negative", Severity::warning},
    {Count::duration_zero, "kernels_of_no_duration", Severity::info},
    {Count::stream_guessed, "guessed.stream", Severity::warning},
    {Count::rank_from_name, "guessed.rank_from_file_name", Severity::warning},
    {Count::rank_unknown, "guessed.rank_by_file_order", Severity::warning},
    {Count::rank_impossible, "rank_impossible", Severity::warning},
    {Count::rank_missing, "ranks_missing", Severity::warning},
    {Count::gpus_differ, "gpus_differ", Severity::warning},
    {Count::other_run, "other_run", Severity::warning},
    {Count::collective_renamed, "guessed.collective_by_its_operator", Severity::warning},
    {Count::collective_size_guessed, "guessed.collective_size_from_operator", Severity::info},
    {Count::collective_group_guessed, "guessed.collective_group", Severity::warning},
    {Count::collective_uneven, "collectives_uneven", Severity::info},
    {Count::collective_empty, "collectives_of_no_bytes", Severity::info},
    {Count::collective_size_unknown, "collectives_of_unknown_size", Severity::warning},
    {Count::collective_without_kernel, "collectives_without_kernel", Severity::warning},
    {Count::launch_ambiguous, "guessed.launch_among_several", Severity::warning},
    {Count::stream_overrun, "kernels_overrunning_the_next", Severity::info},
    {Count::no_steps, "no_steps_marked", Severity::warning},
    {Count::bad_metadata, "repaired.header_unreadable", Severity::warning},
    {Count::malformed, "dropped.malformed_events", Severity::error},
    {Count::trailing, "dropped.trailing_text", Severity::error},
    {Count::behind_gzip, "dropped.bytes_behind_gzip", Severity::error},
    {Count::phase_unknown, "dropped.phase_unknown", Severity::error},
    {Count::category_unknown, "dropped.category_unknown", Severity::error},
    {Count::time_missing, "dropped.time_missing", Severity::error},
    {Count::time_overflow, "dropped.time_overflows", Severity::error},
    {Count::duration_overflow, "dropped.duration_overflows", Severity::error},
    {Count::kernel_without_launch, "kernels_without_launch", Severity::warning},
    {Count::launch_without_kernel, "launches_without_kernel", Severity::warning},
    {Count::rank_duplicate, "dropped.rank_twice", Severity::error},
    {Count::file_empty, "dropped.file_without_operations", Severity::error},
    {Count::collective_unknown_kind, "collectives_of_unknown_kind", Severity::warning},
};
static_assert(std::size(kKinds) == static_cast<std::size_t>(Count::count_), "each counter has a name");

}  // namespace

void Tally::tell(Diagnostics& report) const {
  for (const Kind& kind : kKinds) {
    const auto i = static_cast<std::size_t>(kind.count);
    if (counts_[i] > 0) report.add(std::string("import.kineto.") + kind.name, kind.severity, examples_[i], counts_[i]);
  }
}

}  // namespace sgsim::import::kineto
