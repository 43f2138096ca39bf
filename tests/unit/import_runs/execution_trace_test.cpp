// PyTorch execution traces and Chakra files, written by hand.
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/core/text_file.h"
#include "sim/import/chakra/chakra.h"
#include "sim/import/chakra/groups.h"
#include "sim/import/format.h"
#include "sim/import/pytorch_et/pytorch_et.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;
using protobuf::Writer;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}

// A matrix product inside a linear layer, then an all-gather of its result, in the old flat schema.
const char* const kOld = R"json({"schema": "1.0.1", "pid": 7, "time": "x", "start_ts": 1, "nodes": [
 {"name": "aten::mm", "id": 4, "rf_id": 2, "parent": 3, "fw_parent": 0, "seq_id": 5, "scope": 0, "tid": 1, "fw_tid": 0, "op_schema": "",
  "inputs": [[10,11,0,8,2,"cuda:0"]], "input_shapes": [[2,4]], "input_types": ["Tensor(c10::Half)"], "outputs": [[12,13,0,8,2,"cuda:0"]], "output_shapes": [[2,4]], "output_types": ["Tensor(c10::Half)"]},
 {"name": "aten::linear", "id": 3, "rf_id": 1, "parent": 2, "tid": 1, "inputs": [], "input_shapes": [], "input_types": [], "outputs": [[12,13,0,8,2,"cuda:0"]], "output_shapes": [], "output_types": []},
 {"name": "record_param_comms", "id": 5, "rf_id": 3, "parent": 2, "tid": 1, "inputs": [[[12,13,0,8,2,"cuda:0"]],1,93,0,"_allgather_base",[],[],4], "input_shapes": [[[2,4]],[],[],[],[],[],[],[]],
  "input_types": ["GenericList[Tensor(c10::Half)]","Int","Int","Int","String","GenericList[]","GenericList[]","Int"], "outputs": [[[20,21,0,32,2,"cuda:0"]]], "output_shapes": [], "output_types": []},
 {"name": "[pytorch|profiler|execution_graph|thread]", "id": 2, "parent": 1, "tid": 1, "inputs": [], "outputs": []},
 {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "parent": 1, "tid": 0, "inputs": [], "outputs": []}], "finish_ts": 9})json";

// The same collective in the new schema, with its attributes, and its group in the file.
const char* const kNew = R"json({"schema": "1.1.1-chakra.0.0.4", "pid": 8, "nodes": [
 {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values": ["[{\"pg_name\": \"3\", \"pg_desc\": \"dp\", \"ranks\": [0, 2], \"group_size\": 2}]"], "shapes": [[]], "types": ["String"], "strides": []},
  "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "tid", "type": "uint64", "value": 1}]},
 {"id": 3, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": [[[1,2,0,6,4,"cuda:0"]],1,["3","dp"],0,"reduce_scatter_tensor",[],[],0,2,2], "shapes": [], "types": ["GenericList[Tensor(float)]"]},
  "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [{"name": "collective_name", "type": "string", "value": "_reduce_scatter_base"}, {"name": "dtype", "type": "string", "value": "Float"},
   {"name": "in_msg_nelems", "type": "uint64", "value": 6}, {"name": "out_msg_nelems", "type": "uint64", "value": 3}]}]})json";

std::string chakra_file(const std::vector<Writer>& messages) {
  std::string bytes;
  for (const Writer& message : messages) {
    protobuf::put_varint(bytes, message.bytes().size());
    bytes += message.bytes();
  }
  return bytes;
}
Writer attribute(std::string_view name, std::uint32_t field, std::uint64_t value) { return Writer().text(1, name).varint(field, value); }

}  // namespace

TEST_CASE("execution trace, old schema: parents, data, a collective") {
  const trace::ImportedRun run = pytorch_et::parse(kOld, "et.json");
  const trace::RankTrace& rank = run.ranks.at(0);
  REQUIRE(rank.ops.size() == 5);
  CHECK(run.strings.at(rank.ops[2].name) == "aten::linear");  // in the order in which they began
  CHECK(rank.ops[2].kind == trace::HostKind::op);
  CHECK(rank.ops[0].kind == trace::HostKind::annotation);
  CHECK(run.strings.at(rank.ops[3].shapes) == "[[2,4]] [\"Tensor(c10::Half)\"]");
  REQUIRE(rank.collectives.size() == 1);
  CHECK(rank.collectives[0].kind == trace::CommKind::all_gather);
  CHECK(rank.collectives[0].bytes == 8 * 2 * 4);  // 8 halves from each of 4 ranks, gathered
  CHECK(run.groups[rank.collectives[0].group].size == 4);
  std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>> edges;
  for (const trace::Edge& edge : rank.edges) edges.emplace_back(edge.from.index, edge.to.index, edge.data);
  CHECK(edges == std::vector<std::tuple<std::uint32_t, std::uint32_t, bool>>{{0, 1, false}, {1, 2, false}, {2, 3, false}, {1, 4, false}, {3, 4, true}});
}

TEST_CASE("execution trace, new schema: groups and attributes") {
  const trace::ImportedRun run = pytorch_et::parse(kNew, "et.json");
  REQUIRE(run.ranks[0].collectives.size() == 1);
  const trace::Collective& collective = run.ranks[0].collectives[0];
  CHECK(collective.kind == trace::CommKind::reduce_scatter);
  CHECK(collective.bytes == 24);
  CHECK(run.groups[collective.group].ranks == std::vector<std::int32_t>{0, 2});
  CHECK(count_of(run.report, "import.pytorch_et.parent_absent") == 2);  // node 1 is not in the file
}

TEST_CASE("execution trace: what is refused") {
  for (const char* text : {"", "{", "[]", "{\"schema\": \"1.0.1\"}", "{\"schema\": \"9.9\", \"nodes\": []}", "{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 1}]}"}) {
    CHECK_THROWS_AS(pytorch_et::parse(text, "et.json"), InputError);
  }
  try {
    (void)pytorch_et::parse(R"json({"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "parent": 2}, {"id": 2, "name": "b", "parent": 1}]})json", "et.json");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().found == "a cycle of 2 nodes: 1 \"a\" -> 2 \"b\" -> 1 \"a\"");
  }
}

TEST_CASE("profile and execution trace of one process are merged") {
  trace::ImportedRun run;
  run.format = "kineto";
  trace::RankTrace& rank = run.ranks.emplace_back();
  rank.threads.push_back({.process = run.strings.intern("7"), .thread = run.strings.intern("7"), .name = 0});
  for (const char* name : {"aten::linear", "aten::mm", "aten::only_here", "record_param_comms"}) {
    trace::HostOp op;
    op.name = run.strings.intern(name);
    op.id = 100 + static_cast<std::int64_t>(rank.ops.size());
    op.start = static_cast<trace::Nanoseconds>(10 * rank.ops.size());
    rank.ops.push_back(op);
  }
  trace::Collective gather;
  gather.kind = trace::CommKind::all_gather;
  gather.host_op = 3;
  rank.collectives.push_back(gather);
  pytorch_et::merge(run, pytorch_et::parse(kOld, "et.json"));
  CHECK(count_of(run.report, "import.pytorch_et.merged_op") == 3);
  CHECK(run.ranks[0].collectives[0].bytes == 64);
  CHECK(run.groups.at(run.ranks[0].collectives[0].group).size == 4);
  REQUIRE(run.ranks[0].edges.size() == 1);
  CHECK(run.ranks[0].edges[0].from.index == 1);
  CHECK(run.ranks[0].edges[0].to.index == 3);
  CHECK(run.strings.at(run.ranks[0].ops[1].shapes) == "[[2,4]] [\"Tensor(c10::Half)\"]");
}

namespace {

/// Three all-reduces of 16, 32 and 64 bytes; their operators of the profile begin at 0, 100 and 200 ns and last 50.
std::string three_sums() {
  std::string text = R"({"schema": "1.0.1", "pid": 7, "nodes": [{"name": "[pytorch|profiler|execution_graph|thread]", "id": 2, "parent": 1, "tid": 1, "inputs": [], "outputs": []})";
  for (const int i : {0, 1, 2}) {
    text += R"(, {"name": "record_param_comms", "id": )" + std::to_string(10 + i) + R"(, "parent": 2, "tid": 1, "inputs": [[[12,13,0,)" + std::to_string(8 << i) + R"(,2,"cuda:0"]],1,93,0,"allreduce",[],[],4], "input_shapes": [[[)" +
            std::to_string(8 << i) + R"(]],[],[],[],[],[],[],[]], "input_types": ["GenericList[Tensor(c10::Half)]","Int","Int","Int","String","GenericList[]","GenericList[]","Int"], "outputs": []})";
  }
  return text + "]}";
}

/// The profile of it, with collectives at these times; `ops`: whether it recorded operators.
trace::ImportedRun profile_of_sums(const std::vector<trace::Nanoseconds>& at, bool ops) {
  trace::ImportedRun run;
  run.format = "kineto";
  trace::RankTrace& rank = run.ranks.emplace_back();
  rank.threads.push_back({.process = run.strings.intern("7"), .thread = run.strings.intern("7"), .name = 0});
  for (const int i : {0, 1, 2}) {
    trace::HostOp op{.start = 100 * i, .duration = 50, .id = 100 + i, .name = run.strings.intern(ops ? "record_param_comms" : "other"), .shapes = 0, .thread = 0, .kind = trace::HostKind::op};
    rank.ops.push_back(op);
  }
  for (const trace::Nanoseconds t : at) {
    rank.device_ops.push_back({.start = t});
    trace::Collective sum{.kind = trace::CommKind::all_reduce, .name = run.strings.intern("allreduce"), .group = trace::kNone, .sequence = 0, .bytes = -1.0, .dtype = 0, .peer = -1, .uneven = false,
                          .device_op = static_cast<std::uint32_t>(rank.device_ops.size() - 1), .host_op = trace::kNone};
    rank.collectives.push_back(sum);
  }
  return run;
}

}  // namespace

TEST_CASE("collectives are merged by the operator around them where one file has more") {
  trace::ImportedRun run = profile_of_sums({10, 210}, true);  // the second one's kernel is not in the profile
  pytorch_et::merge(run, pytorch_et::parse(three_sums(), "et.json"));
  CHECK(run.ranks[0].collectives[0].bytes == 16);
  CHECK(run.ranks[0].collectives[1].bytes == 64);
  CHECK(count_of(run.report, "import.pytorch_et.merged_collective") == 2);
  CHECK(count_of(run.report, "import.pytorch_et.merged_collective_only_in_execution_trace") == 1);
  CHECK(count_of(run.report, "import.pytorch_et.merged_collective_only_in_profile") == 0);

  trace::ImportedRun more = profile_of_sums({10, 110, 160, 210}, true);  // and one that no operator of the other file is around
  pytorch_et::merge(more, pytorch_et::parse(three_sums(), "et.json"));
  CHECK(more.ranks[0].collectives[1].bytes == 32);
  CHECK(more.ranks[0].collectives[2].bytes == -1.0);
  CHECK(more.ranks[0].collectives[3].bytes == 64);
  CHECK(count_of(more.report, "import.pytorch_et.merged_collective_only_in_profile") == 1);
}

TEST_CASE("an execution trace of another program stays apart although both are alone") {
  const auto profile = [](std::vector<const char*> names) {
    trace::ImportedRun run;
    run.format = "kineto";
    trace::RankTrace& rank = run.ranks.emplace_back();
    rank.file = "p.json";
    rank.threads.push_back({.process = run.strings.intern("8"), .thread = run.strings.intern("8"), .name = 0});  // the execution trace's process is 7
    for (const char* name : names) rank.ops.push_back({.start = static_cast<trace::Nanoseconds>(10 * rank.ops.size()), .id = static_cast<std::int64_t>(rank.ops.size()), .name = run.strings.intern(name)});
    return run;
  };
  trace::ImportedRun same = profile({"record_param_comms", "other", "record_param_comms"});  // 2 of at least 3 operators
  CHECK(pytorch_et::merge(same, pytorch_et::parse(three_sums(), "et.json")).empty());
  CHECK(count_of(same.report, "import.pytorch_et.merged_by_being_alone") == 1);
  trace::ImportedRun other = profile({"a", "record_param_comms", "b"});
  const trace::ImportedRun before = other;
  const std::string reason = pytorch_et::merge(other, pytorch_et::parse(three_sums(), "et.json"));
  CHECK(reason.starts_with("et.json and p.json: different process ids, and "));
  CHECK(other == before);
}

TEST_CASE("collectives of files without common operators are merged in order, if there are as many") {
  trace::ImportedRun run = profile_of_sums({10, 110, 210}, false);
  pytorch_et::merge(run, pytorch_et::parse(three_sums(), "et.json"));
  CHECK(run.ranks[0].collectives[1].bytes == 32);
  trace::ImportedRun fewer = profile_of_sums({10, 210}, false);
  pytorch_et::merge(fewer, pytorch_et::parse(three_sums(), "et.json"));
  CHECK(fewer.ranks[0].collectives[0].bytes == -1.0);
  CHECK(count_of(fewer.report, "import.pytorch_et.merged_collective_only_in_profile") == 2);
  CHECK(count_of(fewer.report, "import.pytorch_et.merged_collective_only_in_execution_trace") == 3);
}

TEST_CASE("Chakra: compute, an all-reduce, a send; every kind of integer attribute") {
  const std::string bytes = chakra_file({
      Writer().text(1, "0.0.4"),
      Writer().varint(1, 7).text(2, "fwd").varint(3, 4).varint(7, 12).message(10, attribute("is_cpu_op", 27, 0)),
      Writer().varint(1, 8).text(2, "sum").varint(3, 7).packed(5, {7}).message(10, attribute("comm_type", 9, 0)).message(10, attribute("comm_size", 13, 4096)),
      Writer().varint(1, 9).text(2, "to 3").varint(3, 5).varint(4, 8).message(10, attribute("comm_dst", 15, 6)).message(10, attribute("comm_size", 7, 64)),  // zigzag 6 is 3
      Writer().varint(1, 10).text(2, "aten::add").varint(3, 4).varint(4, 99).message(10, attribute("is_cpu_op", 27, 1)),
  });
  const trace::ImportedRun run = chakra::parse(bytes, "x.5.et");
  const trace::RankTrace& rank = run.ranks.at(0);
  CHECK(rank.rank == 5);
  REQUIRE(rank.device_ops.size() == 3);
  CHECK(rank.device_ops[0].duration == 12'000);
  CHECK(rank.device_ops[0].start == trace::kNoTime);
  CHECK(rank.ops.size() == 1);
  REQUIRE(rank.collectives.size() == 2);
  CHECK(rank.collectives[0].kind == trace::CommKind::all_reduce);
  CHECK(rank.collectives[0].bytes == 4096);
  CHECK(rank.collectives[1].kind == trace::CommKind::send);
  CHECK(rank.collectives[1].peer == 3);
  CHECK(rank.edges.size() == 2);
  CHECK(count_of(run.report, "import.chakra.dependency_absent") == 1);
  CHECK(count_of(run.report, "import.chakra.collectives.all_reduce") == 1);
}

TEST_CASE("Chakra: truncated, damaged, cyclic") {
  std::string bytes = chakra_file({Writer().text(1, "0.0.4"), Writer().varint(1, 1).text(2, "a").varint(3, 4), Writer().varint(1, 2).text(2, "b").varint(3, 4)});
  bytes.resize(bytes.size() - 2);
  CHECK(count_of(chakra::parse(bytes, "x.et").report, "import.chakra.truncated") == 1);
  CHECK_THROWS_AS(chakra::parse("", "x.et"), InputError);
  CHECK_THROWS_AS(chakra::parse("\xff\xff\xff", "x.et"), InputError);
  const std::string cyclic = chakra_file({Writer().varint(1, 1).text(2, "a").varint(3, 4).varint(5, 2), Writer().varint(1, 2).text(2, "b").varint(3, 4).varint(5, 1)});
  CHECK_THROWS_AS(chakra::parse(cyclic, "x.et"), InputError);
}

TEST_CASE("Chakra: JSON forms") {
  const char* const graph = R"json({"workload_graph": [{"Id": 1, "Name": "k", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 3, "is_cpu_op": false},
    {"Id": 2, "Name": "ncclKernel_Broadcast_RING_LL_Sum_int8_t(x)", "NodeType": 7, "ctrlDeps": [], "data_deps": [1], "runtime": 28, "is_cpu_op": false}], "ngpus": 8})json";
  const trace::ImportedRun run = chakra::parse(graph, "c.0.json");
  CHECK(run.ranks[0].device_ops.size() == 2);
  REQUIRE(run.ranks[0].collectives.size() == 1);
  CHECK(run.ranks[0].collectives[0].kind == trace::CommKind::broadcast);  // by its name
  CHECK(run.ranks[0].edges.size() == 1);
  const char* const stream = "{\"version\": \"0.0.4\"}\n{\"id\": \"1\", \"name\": \"a{\", \"type\": \"COMM_COLL_NODE\", \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"2\"}, {\"name\": \"comm_size\", \"uint64Val\": \"9\"}]}\n";
  const trace::ImportedRun other = chakra::parse(stream, "c.json");
  REQUIRE(other.ranks[0].collectives.size() == 1);
  CHECK(other.ranks[0].collectives[0].kind == trace::CommKind::all_gather);
  CHECK(other.ranks[0].collectives[0].bytes == 9);
  CHECK_THROWS_AS(chakra::parse("{\"workload_graph\": [", "c.json"), InputError);
}

TEST_CASE("Chakra: JSON numbers that are none are counted, not made 0 in silence") {
  const auto read = [](const std::string& first, const std::string& dependency) {
    return chakra::parse("{\"version\": \"0.0.4\"}\n{\"name\": \"a\", \"type\": \"COMP_NODE\", " + first + "}\n{\"id\": 1, \"name\": \"b\", \"type\": \"COMP_NODE\", \"data_deps\": [" + dependency + "]}", "c.json");
  };
  const auto example = [](const trace::ImportedRun& run, const char* what) {
    const auto found = run.report.entries().find(std::string("import.chakra.") + what);
    return found == run.report.entries().end() ? std::string() : found->second.example;
  };
  CHECK(example(read("\"id\": 0, \"duration_micros\": -4", "0"), "negative_duration") == "node 0 \"a\": -4 us taken as 0");
  CHECK(example(read("\"id\": 0, \"duration_micros\": \"-4\"", "0"), "negative_duration") == "node 0 \"a\": \"-4\" us taken as 0");
  CHECK(example(read("\"id\": 0, \"duration_micros\": \"x\"", "0"), "unusable_duration") == "node 0 \"a\": \"x\" us taken as 0");
  CHECK(example(read("\"id\": 0, \"duration_micros\": 9223372036854775808", "0"), "overflowing_duration") == "node 0: 9223372036854775808 us taken as 0");
  CHECK(count_of(read("\"id\": 0, \"start_time_micros\": 9223372036854775807", "0").report, "import.chakra.overflowing_start") == 1);
  CHECK(read("\"id\": 0, \"duration_micros\": 1.5", "0").ranks[0].device_ops[0].duration == 1500);
  CHECK(example(read("\"id\": 0", "\"x\""), "unusable_dependency") == "node 1 \"b\": on \"x\"");
  for (const char* id : {"\"abc\"", "0.5"}) {
    const auto run = read(std::string("\"id\": ") + id, "0");  // 0 is not taken for the node without number
    CHECK(example(run, "unusable_id") == std::string("node \"a\": its id is ") + id + "; it stays, nothing can depend on it");
    CHECK(run.ranks[0].device_ops.size() == 2);
    CHECK(run.ranks[0].edges.empty());
    CHECK(count_of(run.report, "import.chakra.dependency_absent") == 1);
  }
}

TEST_CASE("Chakra: a chain of 100,000 nodes") {
  std::string bytes;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    Writer node;
    node.varint(1, i).text(2, "n").varint(3, 4);
    if (i > 0) node.packed(5, {i - 1});
    protobuf::put_varint(bytes, node.bytes().size());
    bytes += node.bytes();
  }
  CHECK(chakra::parse(bytes, "x.et").ranks[0].edges.size() == 99'999);
}

TEST_CASE("Chakra: the size of an all-gather is what one rank puts in") {
  const auto gather = [](const Writer& more) {
    return chakra_file({Writer().text(1, "0.0.4"), Writer().varint(1, 1).text(2, "gather").varint(3, 7).message(10, attribute("comm_type", 9, 2)).message(10, attribute("comm_size", 13, 64)).message(10, more)});
  };
  const auto bytes = [](const trace::ImportedRun& run) { return run.ranks.at(0).collectives.at(0).bytes; };
  const trace::ImportedRun known = chakra::parse(gather(attribute("pg_size", 9, 4)), "x.0.et");
  CHECK(bytes(known) == 256);
  CHECK(count_of(known.report, "import.chakra.gathered_size_guessed") == 0);
  CHECK(bytes(chakra::parse(gather(attribute("gathered_size", 9, 250)), "x.0.et")) == 250);  // our own files
  const trace::ImportedRun alone = chakra::parse(gather(attribute("x", 9, 0)), "x.0.et");
  CHECK(bytes(alone) == 64);
  CHECK(count_of(alone.report, "import.chakra.gathered_size_guessed") == 1);
}

TEST_CASE("Chakra: what is a list of communicators") {
  CHECK(chakra::begins_as_groups("{\"1\": [0, 1],\n \"2\": [2, 3]}"));
  CHECK(chakra::begins_as_groups("{\"1\": [0, 1"));  // its first bytes, or cut
  for (const char* text : {"", "{", "{}", "{\"a\": [1, 2]}", "{\"1\": [0.5]}", "{\"1\": []}", "{\"1\": [0], \"2\": 3}", "[1, 2]", "{\"1\": [[0, 1]]}", "{\"1\": [0] [1]}", "{\"1\": [0], 2: [1]}", "{\"1\": [-1]}"}) CHECK_FALSE(chakra::begins_as_groups(text));
}

TEST_CASE("Chakra: a long list of communicators beside traces is recognised by its first bytes") {
  const std::string folder = std::string(SGSIM_BINARY_DIR) + "/chakra_long_list";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& name, const std::string& bytes) { std::ofstream(folder + "/" + name, std::ios::binary) << bytes; };
  for (int rank = 0; rank < 2; ++rank) {
    write("t." + std::to_string(rank) + ".et", chakra_file({Writer().text(1, "0.0.4"), Writer().varint(1, 1).text(2, "sum").varint(3, 7).message(10, attribute("comm_type", 9, 0)).message(10, attribute("comm_size", 13, 64)).message(10, Writer().text(1, "pg_name").text(29, "9000"))}));
  }
  std::string list = "{";
  for (int group = 1; group <= 9000; ++group) list += (group == 1 ? "\"" : ", \"") + std::to_string(group) + "\": [" + std::to_string(2 * (group % 100)) + ", 1]";
  REQUIRE(list.size() > 2 * kHeadBytes);
  write("comm_group.json", list + "}");
  const std::vector<Imported> results = import_path(folder, {});
  REQUIRE(results.size() == 1);
  const auto& run = std::get<trace::ImportedRun>(results[0]);
  CHECK(count_of(run.report, "import.chakra.group_members") == 9000);
  REQUIRE(run.groups.size() == 1);
  CHECK(run.groups[0].ranks == std::vector<std::int32_t>{0, 1});
  CHECK(count_of(run.report, "import.file.unknown") == 0);
  write("comm_group.json", list + ", \"9001\": 3}");  // no list of communicators after all
  CHECK_THROWS_WITH(import::chakra::format().read({folder + "/t.0.et", folder + "/comm_group.json"}, {}), Catch::Contains("9001"));
}

TEST_CASE("gzip data with a wrong checksum are read and counted by every reader") {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/wrong_checksum.et.gz";
  write_text_file(path, chakra_file({Writer().text(1, "0.0.4"), Writer().varint(1, 1).text(2, "a").varint(3, 4)}));
  std::string bytes;
  {
    std::ifstream file(path, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  bytes[bytes.size() - 8] ^= 1;
  std::ofstream(path, std::ios::binary) << bytes << "hello";
  const auto imported = import_path(path, {});
  const auto& run = std::get<trace::ImportedRun>(imported.front());
  CHECK(run.ranks.at(0).device_ops.size() == 1);
  CHECK(count_of(run.report, "import.chakra.gzip_checksum") == 1);
  CHECK(count_of(run.report, "import.chakra.dropped.bytes_behind_gzip") == 5);
  CHECK_THROWS_WITH(read_text_file(path), Catch::Contains("damaged gzip data (incorrect data check)"));  // files of ours are whole, or refused
  bytes.resize(bytes.size() - 12);
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK_THROWS_WITH(import_path(path, {}), Catch::Contains("a gzip file that ends too early"));
  CHECK_THROWS_WITH(read_text_file(path), Catch::Contains("a gzip file that ends too early"));
}
