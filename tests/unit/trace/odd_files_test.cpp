// Odd files, each a kind of its own: tests/fuzz/corpus/kineto holds them. What is read, and what the report says of it.
#include <tuple>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/import/format.h"
#include "sim/import/kineto/number.h"
#include "sim/trace/match.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;
using import::kineto::integer;
using import::kineto::nanoseconds;

TEST_CASE("microseconds become whole nanoseconds without loss") {
  CHECK(nanoseconds("1706850122846038.123") == 1706850122846038123);  // beyond 2^53 ns
  CHECK(nanoseconds("90") == 90000);
  CHECK(nanoseconds("-1.5") == -1500);
  CHECK(nanoseconds("0.0005") == 1);  // half a nanosecond rounds away from zero
  CHECK(nanoseconds("0.0004") == 0);
  CHECK(nanoseconds("1.1e2") == 110000);
  CHECK(nanoseconds("9223372036854775.807") == 9223372036854775807);
  CHECK_FALSE(nanoseconds("9223372036854775.808"));
  CHECK_FALSE(nanoseconds("1e300"));
  CHECK_FALSE(nanoseconds(""));
  CHECK_FALSE(nanoseconds("abc"));
  CHECK(integer("7.0") == 7);
  CHECK(integer("0x10") == 16);
  CHECK(integer("18446744073709551615") == -1);  // ids keep their 64 bits
  CHECK_FALSE(integer("7.5"));
}

TEST_CASE("a plain trace: kernel, launch and operator are linked") {
  const auto run = read_corpus({"plain.json"});
  const trace::RankTrace& rank = run.ranks.at(0);
  REQUIRE(rank.device_ops.size() == 1);
  CHECK(rank.device_ops[0].start == 110000);
  CHECK(rank.device_ops[0].duration == 10000);
  CHECK(rank.device_ops[0].call == 0);
  CHECK(rank.device_ops[0].op == 0);
  CHECK(rank.streams[rank.device_ops[0].stream].stream == 7);
  CHECK(counted(run, "no_steps_marked") == 1);
}

TEST_CASE("files whose JSON is not quite JSON give the same run") {
  const auto plain = read_corpus({"plain.json"});
  for (const char* name : {"list_root.json", "unterminated.json", "comma_too_many.json", "not_events.json", "malformed.json", "ts_string.json", "header_bad.json", "unknown.json"}) {
    INFO(name);
    const auto run = read_corpus({name});
    REQUIRE(run.ranks.at(0).device_ops.size() == 1);
    CHECK(run.ranks[0].device_ops[0].duration == plain.ranks[0].device_ops[0].duration);
    CHECK(run.ranks[0].device_ops[0].op == 0);
  }
  CHECK(counted(read_corpus({"list_root.json"}), "repaired.list_root") == 1);
  CHECK(counted(read_corpus({"unterminated.json"}), "repaired.file_ends_early") == 1);
  CHECK(counted(read_corpus({"not_events.json"}), "dropped.malformed_events") >= 1);
  CHECK(counted(read_corpus({"malformed.json"}), "dropped.malformed_events") == 1);
  CHECK(counted(read_corpus({"header_bad.json"}), "repaired.header_unreadable") == 1);
  CHECK(counted(read_corpus({"unknown.json"}), "dropped.category_unknown") == 1);
  CHECK(counted(read_corpus({"unknown.json"}), "dropped.phase_unknown") == 1);
}

TEST_CASE("truncated files give what they have") {
  const auto run = read_corpus({"truncated.json"});
  CHECK(run.ranks.at(0).device_ops.size() == 1);
  CHECK(counted(run, "dropped.malformed_events") == 1);
  CHECK(counted(run, "repaired.file_ends_early") == 1);
  const auto packed = read_corpus({"truncated.json.gz"});
  CHECK(packed.ranks.at(0).device_ops.size() > 100);
  CHECK(packed.ranks.at(0).device_ops.size() < 401);
  CHECK(counted(packed, "repaired.gzip_ends_early") == 1);
}

TEST_CASE("gzip: a wrong checksum loses nothing, bytes behind are counted, members follow each other") {
  const auto packed = [](const std::string& text) {
    const std::string path = std::string(SGSIM_BINARY_DIR) + "/trace_test_packed.json.gz";
    write_text_file(path, text);
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string text = trace_text({launch(90, 1), kernel("k", 110, 10, 7, 1)});
  const std::string whole = packed(text), half = packed(text.substr(0, 100)), rest = packed(text.substr(100));
  for (const std::size_t place : {8, 4}) {  // the checksum, the length
    std::string bytes = whole;
    bytes[bytes.size() - place] ^= 1;
    const auto run = read_text("checksum", bytes);
    CHECK(run.ranks.at(0).device_ops.size() == 1);
    CHECK(counted(run, "gzip_checksum") == 1);
    CHECK(counted(run, "repaired.gzip_ends_early") == 0);
    CHECK_FALSE(run.ranks[0].ends_early);
    bytes = half;
    bytes[bytes.size() - place] ^= 1;
    CHECK(read_text("checksum_2", bytes + rest).ranks.at(0).device_ops.size() == 1);
    CHECK(import::read_head(write_trace("checksum_3", bytes)).bytes == text.substr(0, 100));
  }
  const auto behind = read_text("behind", whole + "hello");
  CHECK(behind.ranks.at(0).device_ops.size() == 1);
  CHECK(counted(behind, "dropped.bytes_behind_gzip") == 5);
  const auto members = read_text("members", half + rest);
  CHECK(members.ranks.at(0).device_ops.size() == 1);
  CHECK(members.report.entries().count("import.kineto.dropped.bytes_behind_gzip") == 0);
  std::string broken = whole;  // the header stays, the data end
  broken.resize(broken.size() - 12);
  CHECK(counted(read_text("broken", broken), "repaired.gzip_ends_early") == 1);
}

TEST_CASE("names keep quotes, control bytes and bytes that are no UTF-8") {
  const auto quotes = read_corpus({"unescaped_quotes.json"});
  REQUIRE(quotes.ranks.at(0).device_ops.size() == 2);
  CHECK(quotes.strings.at(quotes.ranks[0].device_ops[0].name) == "void f<\"a\">(x \"b, c\" d)");
  CHECK(counted(quotes, "repaired.unescaped_quotes") == 1);
  const auto control = read_corpus({"control_bytes.json"});
  CHECK(control.strings.at(control.ranks.at(0).device_ops.at(0).name) == "k\x01\x1f\ttab");
  const auto bytes = read_corpus({"not_utf8.json"});
  CHECK(bytes.strings.at(bytes.ranks.at(0).device_ops.at(0).name) == "k\xff\xfe");
  CHECK(counted(bytes, "repaired.names_not_utf8") == 1);
}

TEST_CASE("bytes of zero: between events they are dropped and told, in names they are kept; a file of nothing else is refused") {
  const auto run = read_corpus({"nul_bytes.json"});
  REQUIRE(run.ranks.at(0).device_ops.size() == 1);
  CHECK(run.strings.at(run.ranks[0].device_ops[0].name) == std::string("k\0x", 3));
  CHECK(run.ranks[0].device_ops[0].call == 0);
  CHECK(counted(run, "dropped.malformed_events") == 1);
  CHECK_THROWS_AS(read_text("nul_only", std::string(5000, '\0')), InputError);
}

TEST_CASE("times in every spelling") {
  CHECK(read_corpus({"ts_string.json"}).ranks.at(0).device_ops.at(0).start == 110500);
  const auto large = read_corpus({"ts_large.json"});
  CHECK(large.ranks.at(0).device_ops.at(0).start == 1706850122846038123);
  CHECK(large.ranks.at(0).device_ops.at(0).duration == 1);
  const auto ns = read_corpus({"ts_nanoseconds.json"});
  CHECK(ns.ranks.at(0).device_ops.at(0).start == 1706850122846038123);
  CHECK(ns.ranks.at(0).device_ops.at(0).duration == 1001);
  CHECK(counted(ns, "guessed.times_are_nanoseconds") == 3);
  const auto base = read_corpus({"base_time.json"});
  CHECK(base.ranks.at(0).device_ops.at(0).start == 1790857026000000000 + 110000);
  CHECK(counted(read_corpus({"ts_exponent.json"}), "guessed.time_with_exponent") == 1);
}

TEST_CASE("zero, negative, missing and overflowing durations") {
  const auto run = read_corpus({"durations.json"});
  CHECK(run.ranks.at(0).device_ops.size() == 3);  // zero, negative (as zero) and none (as zero)
  CHECK(counted(run, "kernels_of_no_duration") >= 1);
  CHECK(counted(run, "repaired.duration_negative") == 1);
  CHECK(counted(run, "repaired.duration_missing") == 1);
  CHECK(counted(run, "dropped.duration_overflows") + counted(run, "dropped.time_overflows") == 2);
  CHECK(counted(run, "dropped.time_missing") == 1);
}

TEST_CASE("kernels without launch, launches without kernel, overruns") {
  CHECK(counted(read_corpus({"no_launch.json"}), "kernels_without_launch") == 1);
  CHECK(counted(read_corpus({"overrun.json"}), "kernels_overrunning_the_next") == 1);
  const auto none = read_text("launch_only", trace_text({launch(100, 1), launch(110, 2), kernel("k", 120, 5, 7, 1)}));
  CHECK(counted(none, "launches_without_kernel") == 1);
}

TEST_CASE("a CUDA graph's launch stands for all its kernels") {
  const auto run = read_corpus({"graph_launch.json"});
  REQUIRE(run.ranks.at(0).device_ops.size() == 3);
  for (const trace::DeviceOp& op : run.ranks[0].device_ops) CHECK(op.call == 0);
  CHECK(run.ranks[0].device_ops[1].graph_node == 41);
  CHECK(counted(run, "kernels_without_launch") == 0);
}

TEST_CASE("old categories, attributes of every number type, headers at the end, one step") {
  CHECK(read_corpus({"old_names.json"}).ranks.at(0).device_ops.at(0).op == 0);
  const auto types = read_corpus({"attribute_types.json"});
  CHECK(types.ranks.at(0).streams.size() == 1);  // "7" and 7.0 are one stream
  CHECK(types.ranks.at(0).device_ops.at(0).call == 0);
  const auto late = read_corpus({"header_after.json"});
  CHECK(late.ranks.at(0).rank == 3);
  CHECK(late.ranks.at(0).world_size == 8);
  CHECK(late.ranks.at(0).gpu == "NVIDIA Test");
  CHECK(read_corpus({"steps_one.json"}).ranks.at(0).steps.at(0).number == 3);
}

TEST_CASE("collectives: renamed kernels, no bytes, uneven splits") {
  const auto renamed = read_corpus({"nccl_renamed.json"});
  REQUIRE(renamed.ranks.at(0).collectives.size() == 1);
  CHECK(renamed.ranks[0].collectives[0].kind == trace::CommKind::all_gather);
  CHECK(counted(renamed, "guessed.collective_by_its_operator") == 1);
  CHECK(renamed.ranks[0].collectives[0].bytes == 256.0);  // 32 elements of 2 bytes from each of 4 ranks
  const auto empty = read_corpus({"collective_empty.json"});
  CHECK(empty.ranks.at(0).collectives.at(0).bytes == 0.0);
  CHECK(counted(empty, "collectives_of_no_bytes") == 1);
  const auto uneven = read_corpus({"all_to_all_uneven.json"});
  CHECK(uneven.ranks.at(0).collectives.at(0).kind == trace::CommKind::all_to_all);
  CHECK(uneven.ranks.at(0).collectives.at(0).uneven);
  CHECK(uneven.ranks.at(0).collectives.at(0).bytes == 24.0);
}

TEST_CASE("impossible ranks and world sizes are told") {
  const auto read = [](const std::string& rank, const std::string& world) {
    return read_text("impossible", "{\"distributedInfo\":{\"rank\":" + rank + ",\"world_size\":" + world + "},\"traceEvents\":[" + launch(90, 1) + "," + kernel("k", 110, 10, 7, 1) + "]}");
  };
  CHECK(counted(read("1", "2"), "rank_impossible") == 0);
  CHECK(read("1", "2").ranks[0].rank == 1);
  for (const auto& [rank, world, kept, size] : std::vector<std::tuple<const char*, const char*, int, std::uint32_t>>{{"5", "2", 5, 0}, {"-3", "2", -1, 2}, {"1000000000000", "2", -1, 2}, {"1", "10000000000000", 1, 0}}) {
    const auto run = read(rank, world);
    INFO(rank << " of " << world);
    CHECK(counted(run, "rank_impossible") == 1);
    CHECK(run.ranks[0].rank == kept);
    CHECK(run.ranks[0].world_size == size);
  }
}

TEST_CASE("ranks: twice, missing, of different runs, in differing order") {
  const auto twice = read_corpus({"rank-0.json", "rank-0-again.json", "rank-1.json"});
  CHECK(twice.ranks.size() == 2);
  CHECK(counted(twice, "dropped.rank_twice") == 1);
  CHECK(counted(read_corpus({"rank-0-of-4.json", "rank-2-of-4.json"}), "ranks_missing") == 2);
  CHECK_THROWS_WITH(read_corpus({"rank-0.json", "rank-2-of-4.json"}), Catch::Contains("world sizes 4 and 2"));
  const auto order = read_corpus({"rank-0.json", "rank-1-other-order.json"});
  const auto matching = trace::match_collectives(order);
  CHECK(matching.operations.empty());
  const auto& entry = matching.report.entries().at("import.match.operations_differ");
  CHECK(entry.count == 2);
  // rank, group, index, both operations
  for (const char* part : {"group \"0\"", "operation 0", "rank 0", "rank 1", "all_reduce", "all_gather"}) CHECK(entry.example.find(part) != std::string::npos);
}

TEST_CASE("what is no trace is refused in words") {
  CHECK_THROWS_AS(read_corpus({"not_a_trace.json"}), InputError);
  CHECK_THROWS_AS(import::kineto::read({"/nonexistent/file.json"}, {}), InputError);
  CHECK(read_corpus({"empty.json"}).ranks.at(0).device_ops.empty());
  CHECK(read_corpus({"nested.json"}).ranks.at(0).ops.size() == 1);  // 3,000 brackets deep, no recursion
}

TEST_CASE("what follows the end of a trace is counted: words, or a second trace") {
  const std::string one = trace_text({launch(100, 1), kernel("k", 110, 10, 7, 1)}), list = "[" + launch(100, 1) + "," + kernel("k", 110, 10, 7, 1) + "]";
  for (const std::string& text : {one, list}) {
    CHECK(counted(read_text("ends", text + " \n"), "dropped.trailing_text") == 0);
    CHECK(counted(read_text("words", text + " words"), "dropped.trailing_text") == 1);
    const auto twice = read_text("twice", text + text);
    CHECK(counted(twice, "dropped.trailing_text") == 1);
    CHECK(counted(twice, "kernels") == 1);
  }
}
