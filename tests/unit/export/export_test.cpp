// What is written is read back as what it was, by our own readers here and by others' tools in tests/tools.
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/core/text_file.h"
#include "sim/export/export.h"
#include "sim/import/chakra/chakra.h"
#include "sim/import/kineto/kineto.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

/// An operator launches a kernel of 1.5 us and an all-reduce of 4 KiB over two ranks, which overlaps it on another stream.
trace::ImportedRun small_run() {
  trace::ImportedRun run;
  run.format = "hand";
  run.groups.push_back({.name = run.strings.intern("dp"), .description = 0, .ranks = {0, 1}, .size = 2});
  trace::RankTrace& rank = run.ranks.emplace_back();
  rank.rank = 1;
  rank.world_size = 2;
  rank.gpu = "NVIDIA H200";
  rank.threads.push_back({.process = run.strings.intern("42"), .thread = run.strings.intern("43"), .name = 0});
  rank.streams = {{.device = 1, .stream = 7, .name = 0}, {.device = 1, .stream = 20, .name = 0}};
  constexpr trace::Nanoseconds kBase = 1'700'000'000'000'000'123;  // absolute, past 2^53
  rank.steps.push_back({.number = 3, .start = kBase, .duration = 20'000, .thread = 0});
  trace::HostOp op;
  op.start = kBase + 100;
  op.duration = 900;
  op.id = 5;
  op.name = run.strings.intern("aten::mm \"quoted\"");
  rank.ops.push_back(op);
  for (const int i : {0, 1}) {
    trace::HostCall call;
    call.start = kBase + 200 + 100 * i;
    call.duration = 50;
    call.correlation = 11 + i;
    call.name = run.strings.intern("cudaLaunchKernel");
    call.kind = trace::CallKind::launch;
    call.op = 0;
    rank.calls.push_back(call);
    trace::DeviceOp kernel;
    kernel.start = kBase + 1000 + 500 * i;
    kernel.duration = i == 0 ? 1500 : 4000;
    kernel.correlation = 11 + i;
    kernel.stream = static_cast<std::uint32_t>(i);
    kernel.call = static_cast<std::uint32_t>(i);
    kernel.op = 0;
    kernel.name = run.strings.intern(i == 0 ? "gemm" : "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)");
    rank.device_ops.push_back(kernel);
  }
  trace::Collective sum;
  sum.kind = trace::CommKind::all_reduce;
  sum.name = run.strings.intern("allreduce");
  sum.group = 0;
  sum.bytes = 4096;
  sum.device_op = 1;
  rank.device_ops[1].collective = 0;
  rank.collectives.push_back(sum);
  return run;
}

}  // namespace

TEST_CASE("Chakra: written, read back") {
  const trace::ImportedRun run = small_run();
  Diagnostics report;
  const trace::ImportedRun back = import::chakra::parse(exporting::chakra(run, 0, report), "trace.1.et");
  const trace::RankTrace& rank = back.ranks.at(0);
  REQUIRE(rank.device_ops.size() == 2);
  CHECK(rank.ops.size() == 2);  // and the step
  CHECK(back.strings.at(rank.device_ops[0].name) == "gemm");
  CHECK(rank.device_ops[0].duration == 1500);
  CHECK(rank.device_ops[0].start == run.ranks[0].device_ops[0].start);
  REQUIRE(rank.collectives.size() == 1);
  CHECK(rank.collectives[0].kind == trace::CommKind::all_reduce);
  CHECK(rank.collectives[0].bytes == 4096);
  CHECK(back.strings.at(back.groups[rank.collectives[0].group].name) == "dp");
  CHECK(rank.edges.size() == 6);  // the operator before each call and each kernel, each call before its kernel; the streams have one operation each
}

TEST_CASE("Chakra: calls, steps, memsets and links come back") {
  trace::ImportedRun run = small_run();
  trace::RankTrace& mine = run.ranks[0];
  trace::DeviceOp set = mine.device_ops[0];  // 300 ns, of 64 bytes, by no call of this file
  set.start += 3000;
  set.duration = 300;
  set.kind = trace::DeviceKind::set;
  set.bytes = 64;
  set.correlation = 99;
  set.call = set.op = trace::kNone;
  set.name = run.strings.intern("Memset (Device)");
  mine.device_ops.push_back(set);
  Diagnostics report;
  const trace::ImportedRun back = import::chakra::parse(exporting::chakra(run, 0, report), "x.et");
  const trace::RankTrace& rank = back.ranks.at(0);
  CHECK(rank.rank == 1);
  CHECK(rank.world_size == 2);
  CHECK(rank.gpu == "NVIDIA H200");
  REQUIRE(rank.steps.size() == 1);
  CHECK(rank.steps[0].number == 3);
  CHECK(rank.steps[0].start == mine.steps[0].start);
  CHECK(rank.steps[0].duration == 20'000);
  REQUIRE(rank.calls.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(rank.calls[i].start == mine.calls[i].start);
    CHECK(rank.calls[i].duration == 50);
    CHECK(rank.calls[i].kind == trace::CallKind::launch);
    CHECK(rank.device_ops[i].call == i);
    CHECK(rank.device_ops[i].start == mine.device_ops[i].start);
    CHECK(rank.device_ops[i].op == rank.calls[i].op);
    CHECK(rank.streams[rank.device_ops[i].stream].device == 1);
  }
  REQUIRE(rank.device_ops.size() == 3);
  CHECK(rank.device_ops[2].kind == trace::DeviceKind::set);
  CHECK(rank.device_ops[2].bytes == 64);
  CHECK(rank.device_ops[2].call == trace::kNone);
  const auto counted = [&](const char* what) { return report.entries().at(std::string("export.chakra.") + what).count; };
  CHECK(counted("call") == 2);
  CHECK(counted("step") == 1);
  CHECK(counted("memset") == 1);
}

TEST_CASE("Chakra: the host's durations add up, and groups are numbered for ASTRA-sim") {
  trace::ImportedRun run = small_run();
  run.ranks[0].ops[0].duration = 9000;  // two calls of 2 us each lie within it: 5 us are its own
  for (trace::HostCall& call : run.ranks[0].calls) call.duration = 2000;
  run.ranks[0].calls[1].start = run.ranks[0].calls[0].start + 3000;
  Diagnostics report;
  const std::string bytes = exporting::chakra(run, 0, report);
  std::uint64_t host = 0;
  std::string_view rest = bytes;
  std::uint64_t length = 0;
  for (bool first = true; protobuf::take_varint(rest, length); first = false) {
    protobuf::Message node(rest.substr(0, length));
    rest.remove_prefix(length);
    std::uint64_t id = 99, duration = 0;
    while (const auto field = node.next()) {
      if (field->number == 1) id = field->value;
      if (field->number == 7) duration = field->value;
    }
    if (!first && id == 0) CHECK(duration == 5);
    if (!first && id < 3) host += duration;
  }
  CHECK(host == 9);
  CHECK(exporting::chakra_groups(run, report) == "{\n \"1\": [\n  0,\n  1\n ]\n}\n");
  CHECK(report.entries().count("export.chakra.group_without_members") == 0);
  run.groups[0].ranks.clear();  // as many as the run has ranks: all of them
  CHECK(exporting::chakra_groups(run, report) == "{\n \"1\": [\n  0,\n  1\n ]\n}\n");
  run.groups[0].size = 1;
  CHECK(exporting::chakra_groups(run, report).empty());
  CHECK(report.entries().at("export.chakra.group_without_members").count == 1);
}

TEST_CASE("Chakra: an all-gather has the size that one rank puts in, and comes back as gathered") {
  trace::ImportedRun run = small_run();
  run.ranks[0].collectives[0].kind = trace::CommKind::all_gather;
  run.ranks[0].collectives[0].bytes = 4098;
  Diagnostics report;
  const std::string bytes = exporting::chakra(run, 0, report);
  CHECK(import::chakra::parse(bytes, "x.1.et").ranks.at(0).collectives.at(0).bytes == 4098);
  const std::string part = protobuf::Writer().text(1, "comm_size").integer(9, 2049).bytes();
  CHECK(bytes.find(part) != std::string::npos);
}

TEST_CASE("Kineto: written, read back without loss of a nanosecond") {
  const trace::ImportedRun run = small_run();
  Diagnostics report;
  const std::string path = (std::filesystem::temp_directory_path() / "sgsim_export_test.json").string();
  write_text_file(path, exporting::kineto(run, 0, report));
  const trace::ImportedRun back = import::kineto::read({path}, {});
  std::filesystem::remove(path);
  const trace::RankTrace &a = run.ranks[0], &b = back.ranks.at(0);
  CHECK(b.rank == 1);
  CHECK(b.world_size == 2);
  REQUIRE(b.device_ops.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(b.device_ops[i].start == a.device_ops[i].start);
    CHECK(b.device_ops[i].duration == a.device_ops[i].duration);
    CHECK(b.device_ops[i].call != trace::kNone);
    CHECK(b.device_ops[i].op != trace::kNone);
  }
  REQUIRE(b.ops.size() >= 1);
  CHECK(back.strings.at(b.ops[b.device_ops[0].op].name) == "aten::mm \"quoted\"");
  REQUIRE(b.collectives.size() == 1);
  CHECK(b.collectives[0].kind == trace::CommKind::all_reduce);
  CHECK(b.collectives[0].bytes == 4096);
  REQUIRE(b.steps.size() == 1);
  CHECK(b.steps[0].number == 3);
  CHECK(b.steps[0].duration == 20'000);
}

TEST_CASE("Kineto: shapes of operators come back") {
  trace::ImportedRun run = small_run();
  const std::string shapes = R"([[4, 2048], [[2, 3], []], []] ["c10::BFloat16", "TensorList", "Scalar"])";
  run.ranks[0].ops[0].shapes = run.strings.intern(shapes);
  Diagnostics report;
  const std::string path = (std::filesystem::temp_directory_path() / "sgsim_export_shapes_test.json").string();
  write_text_file(path, exporting::kineto(run, 0, report));
  const trace::ImportedRun back = import::kineto::read({path}, {});
  CHECK(back.strings.at(back.ranks.at(0).ops.at(back.ranks[0].device_ops.at(0).op).shapes) == shapes);
  CHECK(report.entries().count("export.kineto.shapes_lost") == 0);
  run.ranks[0].ops[0].shapes = run.strings.intern("[[4, 2048], []] ");  // as files without types have them
  write_text_file(path, exporting::kineto(run, 0, report));
  const trace::ImportedRun untyped = import::kineto::read({path}, {});
  CHECK(untyped.strings.at(untyped.ranks.at(0).ops.at(untyped.ranks[0].device_ops.at(0).op).shapes) == "[[4, 2048], []] ");
  CHECK(report.entries().count("export.kineto.shapes_lost") == 0);
  run.ranks[0].ops[0].shapes = run.strings.intern("[[4, 2048");  // cut
  (void)exporting::kineto(run, 0, report);
  CHECK(report.entries().at("export.kineto.shapes_lost").count == 1);
  std::filesystem::remove(path);
}

TEST_CASE("Kineto: a file that was cut says so again; as many ranks as the highest number asks for") {
  trace::ImportedRun run = small_run();
  run.ranks[0].ends_early = true;
  run.ranks[0].rank = 5;
  Diagnostics report;
  const std::string path = (std::filesystem::temp_directory_path() / "sgsim_export_cut_test.json").string();
  write_text_file(path, exporting::kineto(run, 0, report));
  const trace::ImportedRun back = import::kineto::read({path}, {});
  std::filesystem::remove(path);
  CHECK(back.ranks.at(0).ends_early);
  CHECK(back.ranks[0].rank == 5);
  CHECK(back.ranks[0].world_size == 6);
  CHECK(back.report.entries().count("import.kineto.rank_impossible") == 0);
  run.ranks[0].ends_early = false;
  write_text_file(path, exporting::kineto(run, 0, report));
  CHECK_FALSE(import::kineto::read({path}, {}).ranks.at(0).ends_early);
  std::filesystem::remove(path);
}

TEST_CASE("Kineto: a step that old files mark by an operator is written once, as that operator") {
  trace::ImportedRun run = small_run();
  trace::RankTrace& rank = run.ranks[0];
  trace::HostOp mark = rank.ops[0];
  mark.start = rank.steps[0].start;
  mark.duration = rank.steps[0].duration;
  mark.name = run.strings.intern("ProfilerStep#3");
  rank.ops.insert(rank.ops.begin(), mark);
  Diagnostics report;
  const std::string text = exporting::kineto(run, 0, report);
  const std::size_t at = text.find("\"ProfilerStep#3\"");
  REQUIRE(at != std::string::npos);
  CHECK(text.substr(at - 25, 25).find("cpu_op") != std::string::npos);
  CHECK(text.find("\"ProfilerStep#3\"", at + 1) == std::string::npos);
}

TEST_CASE("Perfetto: every slice begins and ends on its track, in order") {
  trace::ImportedRun run = small_run();
  trace::DeviceOp overrun = run.ranks[0].device_ops[0];  // begins inside the kernel before it and ends after it
  overrun.start += 700;
  overrun.correlation = -1;
  overrun.call = trace::kNone;
  run.ranks[0].device_ops.push_back(overrun);
  Diagnostics report;
  const std::string bytes = exporting::perfetto(run, report);
  CHECK(import::recognise({.path = "a file", .bytes = bytes, .packed = false, .whole = true}).name == "known");  // and says what it is
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> tracks;  // (time, 1 begin or 2 end)
  int descriptors = 0;
  protobuf::Message trace(bytes);
  while (const auto packet = trace.next()) {
    protobuf::Message fields(packet->bytes);
    std::uint64_t time = 0, type = 0, track = 0;
    while (const auto field = fields.next()) {
      if (field->number == 8) time = field->value;
      if (field->number == 60) ++descriptors;
      if (field->number != 11) continue;
      protobuf::Message event(field->bytes);
      while (const auto part = event.next()) {
        if (part->number == 9) type = part->value;
        if (part->number == 11) track = part->value;
      }
    }
    if (type != 0) tracks[track].emplace_back(time, type);
  }
  CHECK_FALSE(trace.damaged());
  CHECK(descriptors == 5);  // the rank, its thread, two streams, and a second track for the overrun
  int slices = 0;
  for (const auto& [track, events] : tracks) {
    int open = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
      open += events[i].second == 1 ? 1 : -1;
      slices += events[i].second == 1 ? 1 : 0;
      CHECK(open >= 0);
      if (i > 0) CHECK(events[i].first >= events[i - 1].first);
    }
    CHECK(open == 0);
  }
  CHECK(slices == 6);  // an operator, two calls, three kernels
  CHECK(report.entries().at("export.perfetto.overlapping_slice").count == 1);
}

TEST_CASE("a run without times is refused where times are needed") {
  trace::ImportedRun run = small_run();
  for (trace::DeviceOp& op : run.ranks[0].device_ops) op.start = trace::kNoTime;
  run.ranks[0].ops[0].start = trace::kNoTime;
  Diagnostics report;
  CHECK_THROWS_AS(exporting::kineto(run, 0, report), InputError);
  CHECK_THROWS_AS(exporting::perfetto(run, report), InputError);
  CHECK_NOTHROW(exporting::chakra(run, 0, report));
}
