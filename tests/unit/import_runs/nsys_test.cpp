// An export of Nsight Systems, made with SQLite here.
#include <sqlite3.h>

#include "sim/core/error.h"
#include "sim/import/nsys/nsys.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}

/// The bytes of a database that these statements make.
std::string database(const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open(":memory:", &handle) == SQLITE_OK);
  char* message = nullptr;
  const int result = sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message);
  INFO((message == nullptr ? "" : message));
  REQUIRE(result == SQLITE_OK);
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(handle, "main", &size, 0);
  std::string content(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(handle);
  return content;
}

// Process 1 (global id 1 << 24), thread 1. A product inside aten::mm on stream 7, an all-reduce on stream 20 that waits for an
// event of stream 7.
const char* const kExport = R"(
create table StringIds(id integer primary key, value text);
insert into StringIds values (1,'gemm'),(2,'cudaLaunchKernel_v7000'),(3,'ncclDevKernel_AllReduce_Sum_bf16_RING_LL'),(4,'cudaEventRecord_v3020'),(5,'cudaStreamWaitEvent_v3020');
create table CUPTI_ACTIVITY_KIND_KERNEL(start integer,"end" integer,deviceId integer,streamId integer,correlationId integer,globalPid integer,demangledName integer,gridX integer,gridY integer,gridZ integer);
insert into CUPTI_ACTIVITY_KIND_KERNEL values (100,200,0,7,5,16777216,1,4,2,1),(210,250,0,20,8,16777216,3,1,1,1),(300,290,0,7,9,16777216,1,1,1,1);
create table CUPTI_ACTIVITY_KIND_RUNTIME(start integer,"end" integer,globalTid integer,correlationId integer,nameId integer);
insert into CUPTI_ACTIVITY_KIND_RUNTIME values (50,60,16777217,5,2),(61,62,16777217,6,4),(63,64,16777217,7,5),(70,80,16777217,8,2);
create table CUPTI_ACTIVITY_KIND_CUDA_EVENT(deviceId integer,streamId integer,correlationId integer,globalPid integer,eventId integer,eventSyncId integer);
insert into CUPTI_ACTIVITY_KIND_CUDA_EVENT values (0,7,6,16777216,77,1);
create table CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(deviceId integer,streamId integer,correlationId integer,globalPid integer,syncType integer,eventId integer,eventSyncId integer);
insert into CUPTI_ACTIVITY_KIND_SYNCHRONIZATION values (0,20,7,16777216,2,77,1);
create table NVTX_EVENTS(start integer,"end" integer,eventType integer,text text,globalTid integer);
insert into NVTX_EVENTS values (40,65,59,'aten::mm, seq = 3, op_id = 9',16777217),(66,90,59,'nccl:all_reduce, op_id = 10',16777217),(30,95,59,'ProfilerStep#4',16777217);
)";

}  // namespace

TEST_CASE("nsys: launches, operators, event waits, a collective") {
  const trace::ImportedRun run = nsys::parse(database(kExport), "x.sqlite");
  REQUIRE(run.ranks.size() == 1);
  const trace::RankTrace& rank = run.ranks[0];
  CHECK(rank.rank == 0);
  REQUIRE(rank.device_ops.size() == 2);  // the third ends before it starts
  CHECK(count_of(run.report, "import.nsys.time_broken") == 1);
  CHECK(rank.device_ops[0].duration == 100);
  CHECK(rank.device_ops[0].blocks == 8);
  REQUIRE(rank.device_ops[0].call != trace::kNone);
  CHECK(rank.calls[rank.device_ops[0].call].correlation == 5);
  REQUIRE(rank.device_ops[0].op != trace::kNone);
  CHECK(run.strings.at(rank.ops[rank.device_ops[0].op].name) == "aten::mm");
  CHECK(rank.ops[rank.device_ops[0].op].id == 9);
  REQUIRE(rank.collectives.size() == 1);
  CHECK(rank.collectives[0].kind == trace::CommKind::all_reduce);
  REQUIRE(rank.calls.size() == 4);
  CHECK(rank.calls[1].kind == trace::CallKind::event_record);
  CHECK(rank.calls[1].event == 77);
  CHECK(rank.streams.at(rank.calls[1].stream).stream == 7);
  CHECK(rank.calls[2].kind == trace::CallKind::stream_wait_event);
  CHECK(rank.calls[2].record_correlation == 6);
  CHECK(rank.streams.at(rank.calls[2].stream).stream == 20);
  REQUIRE(rank.steps.size() == 1);
  CHECK(rank.steps[0].number == 4);
}

TEST_CASE("nsys: what is refused") {
  CHECK_THROWS_AS(nsys::parse("SQLite format 3", "x.sqlite"), InputError);
  CHECK_THROWS_AS(nsys::parse(database("create table t(a integer)"), "x.sqlite"), InputError);
  CHECK_THROWS_AS(nsys::parse(database("create table StringIds(id integer, value text); create table CUPTI_ACTIVITY_KIND_KERNEL(start integer)"), "x.sqlite"), InputError);
  CHECK_THROWS_AS(nsys::read({"/nonexistent.sqlite"}, {}), InputError);
}
