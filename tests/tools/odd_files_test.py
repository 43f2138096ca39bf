#!/usr/bin/env python3
"""Odd files, one a kind: what `sgsim import` (or another command) says of each, and its exit code.

    odd_files_test.py SGSIM SOURCE_DIR [--table]

The files are in tests/fuzz/corpus; a chain of 100,000 nodes is written here. --table prints the table of docs/formats/import.md.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SGSIM, SOURCE = sys.argv[1], os.path.abspath(sys.argv[2])
CORPUS = os.path.join(SOURCE, "tests/fuzz/corpus")
K = "import.kineto."

# (what, files, exit code, what the output must say: (counter, number) or text; command words instead of "import --report")
CASES = [
    ("names with unescaped quotes", "kineto/unescaped_quotes.json", 0, [(K + "repaired.unescaped_quotes", 1), (K + "kernels", 2)]),
    ("control bytes in names", "kineto/control_bytes.json", 0, [(K + "kernels", 1)]),
    ("bytes that are no UTF-8", "kineto/not_utf8.json", 0, [(K + "repaired.names_not_utf8", 1), (K + "kernels", 1)]),
    ("bytes of zero", "kineto/nul_bytes.json", 0, [(K + "dropped.malformed_events", 1), (K + "kernels", 1)]),
    ("a list without a root", "kineto/list_root.json", 0, [(K + "repaired.list_root", 1), (K + "kernels", 1)]),
    ("an array without an end", "kineto/unterminated.json", 0, [(K + "repaired.file_ends_early", 1), (K + "kernels", 1)]),
    ("a comma too many", "kineto/comma_too_many.json", 0, [(K + "kernels", 1)]),
    ("an event that is no JSON", "kineto/malformed.json", 0, [(K + "dropped.malformed_events", 1), (K + "kernels", 1)]),
    ("truncated JSON", "kineto/truncated.json", 0, [(K + "repaired.file_ends_early", 1), (K + "dropped.malformed_events", 1), (K + "kernels", 1)]),
    ("truncated gzip", "kineto/truncated.json.gz", 0, [(K + "repaired.gzip_ends_early", 1)]),
    ("ts as text", "kineto/ts_string.json", 0, [(K + "kernels", 1)]),
    ("ts with an exponent", "kineto/ts_exponent.json", 0, [(K + "guessed.time_with_exponent", 1)]),
    ("ts as integer and float, beyond 2^53 ns", "kineto/ts_large.json", 0, [(K + "kernels", 1)]),
    ("ts in absolute nanoseconds", "kineto/ts_nanoseconds.json", 0, [(K + "guessed.times_are_nanoseconds", 3)]),
    ("zero, negative, missing and overflowing durations", "kineto/durations.json", 0,
     [(K + "kernels_of_no_duration", 3), (K + "repaired.duration_negative", 1), (K + "repaired.duration_missing", 1), "dropped.duration_overflows", (K + "dropped.time_missing", 1)]),
    ("a kernel overruns the next of its stream", "kineto/overrun.json", 0, [(K + "kernels_overrunning_the_next", 1)]),
    ("ranks are missing", "kineto/rank-0-of-4.json kineto/rank-2-of-4.json", 0, [(K + "ranks_missing", 2), "kineto: 2 ranks"]),
    ("ranks of different jobs: two runs", "kineto/rank-0.json kineto/rank-2-of-4.json", 0, [(K + "other_run", 1), "world sizes 4 and 2", "kineto: 1 rank"]),
    ("the same, replayed", "kineto/rank-0.json kineto/rank-2-of-4.json", 2, ["found 2 runs: kineto of ", "world sizes 4 and 2"], ["replay"]),
    ("a rank twice, with the same contents", "kineto/rank-0.json kineto/rank-0-again.json kineto/rank-1.json", 0, [(K + "dropped.rank_twice", 1), "kineto: 2 ranks"]),
    ("a rank twice, with other contents: two runs", "kineto/rank-1.json kineto/rank-1-other-order.json", 0, [(K + "other_run", 1), "both are rank 1, with other contents"]),
    ("ranks on different GPUs", "kineto/rank-0.json kineto/other-gpu-rank-1.json", 0, [(K + "gpus_differ", 1)]),
    ("no ProfilerStep", "kineto/plain.json", 0, [(K + "no_steps_marked", 1)]),
    ("one ProfilerStep", "kineto/steps_one.json", 0, [(K + "steps", 1)]),
    ("a renamed NCCL kernel", "kineto/nccl_renamed.json", 0, [(K + "guessed.collective_by_its_operator", 1), (K + "collectives.all_gather", 1)]),
    ("a kernel without launch", "kineto/no_launch.json", 0, [(K + "kernels_without_launch", 1)]),
    ("a launch without kernel", "kineto/launch_without_kernel.json", 0, [(K + "launches_without_kernel", 1), (K + "kernels", 1)]),
    ("no kernel at all", "kineto/no_kernel.json", 2, ["found no kernel, copy or memset with times"], ["replay"]),
    ("a kernel begins before its launch: no error, and no limit is met", "kineto/before_launch.json", 1, [("import.dependencies.kernels_begin_before_launch", 1), "no error: 1 of 1"], ["replay", "--limit", "1000"]),
    ("a limit that is no number", "kineto/rank-0.json", 2, ["is not a number from 0"], ["replay", "--limit", "nan"]),
    ("a collective of no bytes", "kineto/collective_empty.json", 0, [(K + "collectives_of_no_bytes", 1)]),
    ("an uneven all-to-all", "kineto/all_to_all_uneven.json", 0, [(K + "collectives_uneven", 1), (K + "collectives.all_to_all", 1)]),
    ("sub-groups of one name", "kineto/subgroup-rank-0.json kineto/subgroup-rank-1.json kineto/subgroup-rank-2.json kineto/subgroup-rank-3.json", 0, ["2 collectives matched over ranks: 0.030 ms of transfer"]),
    ("ranks call collectives in differing order", "kineto/rank-0.json kineto/rank-1-other-order.json", 0,
     [("import.match.operations_differ", 2), 'group "0", operation 0: rank 0 has all_reduce of 16 bytes (allreduce), rank 1 has all_gather of 16 bytes (_allgather_base)']),
    ("the same, replayed: no hang", "kineto/rank-0.json kineto/rank-1-other-order.json", 0, [("import.match.operations_differ", 2), "error of a step"], ["replay"]),
    ("ids of every number type", "kineto/attribute_types.json", 0, [(K + "kernels", 2), "1 streams"]),
    ("attributes as int, uint, float and double (Chakra)", "import_chakra/attribute_types.json", 0,
     [("import.chakra.collectives.all_reduce", 4), ("import.chakra.collectives.all_gather", 1), ("import.chakra.collectives.reduce_scatter", 1), ("import.chakra.zero_size", 1)]),
    ("a cycle (Chakra)", "import_chakra/cycle.json", 2, ['found a cycle of 3 nodes: 1 "a" -> 2 "b" -> 4 "d" -> 1 "a"']),
    ("a cycle (execution trace)", "import_pytorch_et/cycle.json", 2, ['found a cycle of 3 nodes: 2 "aten::a" -> 3 "aten::b" -> 4 "aten::c" -> 2 "aten::a"']),
    ("a cycle (CUDA graph dump)", "import_cuda_graph_dot/cycle.dot", 2, ["found a cycle of 3 nodes: a -> b -> c -> a"]),
    ("a chain of 100,000 nodes (Chakra)", "chain", 0, ["100000 kernels"]),
    ("3,000 brackets deep", "kineto/nested.json", 0, [(K + "operators", 1)]),
    ("no event", "kineto/empty.json", 0, ["0 kernels"]),
    ("a list without events beside a trace: no rank", "kineto/empty.json kineto/rank-0.json", 0, [(K + "dropped.file_without_operations", 1), "kineto: 1 rank"]),
    ("a kernel that nothing waits for: the last", "kineto/overrun.json", 0, [("import.dependencies.without_dependants", 1)]),
    ("collectives: as many simulated as read", "kineto/rank-0.json kineto/rank-1.json", 0,
     [(K + "collectives.all_reduce", 2), ("import.replay.collectives.all_reduce", 2), (K + "collectives.all_gather", 2), ("import.replay.collectives.all_gather", 2)], ["replay"]),
    ("start times that overflow", "kineto/times_overflow.json", 2, ["1 events were dropped because their times overflow (import.kineto.dropped.time_overflows"], ["replay"]),
    ("durations without start times (Chakra)", "import_chakra/graph.json", 0, ["simulated: 0.003 ms (1 rank). The file has no start times"], ["replay"]),
    ("communication without start times, durations or a machine (Chakra)", "import_chakra/attribute_types.json", 2, ["communication without a duration (all_reduce of 64 bytes (int64))"], ["replay"]),
    ("ranks are missing (Chakra): counted in the communicator, and named", "import_chakra/gather.0.json import_chakra/gather.3.json", 0,
     [("import.chakra.ranks_missing", 2), "4 ranks on dgx-h100; ranks 1 and 2 have no file", "over 4 ranks of dgx-h100"], ["replay", "--machine", "dgx-h100"]),
    ("the same, of a larger job", "import_chakra/gather.0.json import_chakra/gather.3.json", 0, ["8 ranks on dgx-h100", "over 8 ranks of dgx-h100"], ["replay", "--machine", "dgx-h100", "--captured-dp", "8"]),
    ("ranks call collectives in differing order (Chakra)", "import_chakra/order.0.json import_chakra/order.1.json", 2,
     ['group "", operation 0: rank 0 has all_reduce of 1048576 bytes (sum), rank 1 has all_gather of 2097152 bytes (gather)'], ["replay", "--machine", "dgx-h100"]),
    ("one rank calls more collectives (Chakra)", "import_chakra/count.0.json import_chakra/count.1.json", 2, ['group "": 1 operations on one rank, 2 on another'], ["replay", "--machine", "dgx-h100"]),
    ("receives that face each other (Chakra)", "import_chakra/facing.0.json import_chakra/facing.1.json", 2,
     ['2 operations that wait for each other in a circle: receive "receive" of rank 0 with send "send" of rank 1'], ["replay", "--machine", "dgx-h100"]),
    ("kernels without times (CUDA graph dump)", "import_cuda_graph_dot/child.dot", 2, ["5 kernels, copies and memsets, none with a duration or a start time"], ["replay"]),
    ("JSON of another kind", "kineto/not_a_trace.json", 2, ["expected one of: "]),
]


def chain(path):
    with open(path, "w") as file:
        file.write('{"version": "0.0.4"}\n')
        for i in range(100000):
            file.write(json.dumps({"id": str(i), "name": "n", "type": "COMP_NODE", "ctrlDeps": [str(i - 1)] if i else [], "attr": [{"name": "is_cpu_op", "boolVal": False}]}) + "\n")


def place(folder, files):
    if files == "chain":
        chain(os.path.join(folder, "chain.json"))
        return os.path.join(folder, "chain.json")
    paths = [os.path.join(CORPUS, f) for f in files.split()]
    if len(paths) == 1:
        return paths[0]
    for path in paths:
        shutil.copy(path, folder)
    return folder


failures = []
for what, files, code, expected, *command in CASES:
    with tempfile.TemporaryDirectory() as folder:
        words = (command[0] if command else ["import"]) + [place(folder, files), "--report"]
        result = subprocess.run([SGSIM] + words, capture_output=True, text=True, errors="replace", timeout=60)
    text = result.stdout + result.stderr
    said = []
    if result.returncode != code:
        failures.append(f"{what}: exit code {result.returncode}, expected {code}: {text[-300:]}")
    for e in expected:
        if isinstance(e, str):
            found = e in text
            said.append(e)
        else:
            found = re.search(rf"^ *{e[1]}  {re.escape(e[0])}(  |$)", text, re.M) is not None
            said.append(f"`{e[0].removeprefix('import.')}` {e[1]}")
        if not found:
            failures.append(f"{what}: no {e} in: {text[-1500:]}")
    if "--table" in sys.argv:
        names = "written by the test" if files == "chain" else ", ".join(f"`{f}`" for f in files.split())
        print(f"| {what} | {names} | {'refused: ' if code == 2 else ''}{'; '.join(said)} |")
for failure in failures:
    print("FAILED:", failure)
print(f"{len(CASES)} kinds of odd files, {len(failures)} failures", file=sys.stderr)
sys.exit(1 if failures else 0)
