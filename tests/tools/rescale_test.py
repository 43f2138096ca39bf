#!/usr/bin/env python3
"""Replay with other sizes against a simulation with these sizes: a plan is simulated and its timeline written; the timeline is imported, rescaled to another
plan, and compared with what `sgsim simulate` gives for that plan. Prints a table; fails where an error is beyond its limit.

    rescale_test.py SGSIM SOURCE_DIR

The limits hold what the rules of docs/import.md give today (its table says why); they are no targets.
"""
import json
import os
import re
import sys
import tempfile

import plans

SGSIM, SOURCE = sys.argv[1], os.path.abspath(sys.argv[2])
UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def scenario(folder, name, dp, tp, pp, micro_batches, machine):
    tree = plans.llama(SOURCE)
    tree["plan"].update(dp=dp, tp=tp, pp=pp, global_batch=dp * micro_batches, sequence_parallel=tp > 1)
    tree["cluster"].update(builtin=machine, nodes=max(1, dp * tp * pp // 8))
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(tree, file)
    return path


def simulated(path, trace=None):
    out = plans.run(SGSIM, ["simulate", path, "--json"] + (["--trace", trace] if trace else []))
    return json.loads(out)["step_time_s"]


def rescaled(trace, machine, wanted):
    out = plans.run(SGSIM, ["replay", trace, "--captured-machine", machine] + wanted)
    value, unit = re.search(r": ([0-9.]+) (\w+) a step \(", out).groups()
    return float(value) * UNITS[unit]


# (what, captured and wanted (dp, tp, pp, micro-batches), machines, limit)
CASES = [("the same plan", (2, 4, 1, 4), (2, 4, 1, 4), "dgx-a100-80gb", "dgx-a100-80gb", 0.01),
         ("the same pipeline", (1, 2, 4, 8), (1, 2, 4, 8), "dgx-a100-80gb", "dgx-a100-80gb", 0.01),
         ("data 2 to 16", (2, 4, 1, 4), (16, 4, 1, 4), "dgx-a100-80gb", "dgx-a100-80gb", 0.03),
         ("tensor 8 to 4", (2, 8, 1, 2), (2, 4, 1, 2), "dgx-a100-80gb", "dgx-a100-80gb", 0.05),
         ("tensor 4 to 8", (2, 4, 1, 2), (2, 8, 1, 2), "dgx-a100-80gb", "dgx-a100-80gb", 0.05),
         ("micro-batches 8 to 32", (1, 2, 4, 8), (1, 2, 4, 32), "dgx-a100-80gb", "dgx-a100-80gb", 0.01),
         ("pipeline 4 to 8", (1, 2, 4, 16), (1, 2, 8, 16), "dgx-a100-80gb", "dgx-a100-80gb", 0.05),
         ("pipeline 8 to 4", (1, 2, 8, 16), (1, 2, 4, 16), "dgx-a100-80gb", "dgx-a100-80gb", 0.05),
         ("pipeline 2 to 4, data 2 to 8", (2, 2, 2, 8), (8, 2, 4, 8), "dgx-a100-80gb", "dgx-a100-80gb", 0.05),
         ("A100 to H100", (2, 4, 1, 2), (2, 4, 1, 2), "dgx-a100-80gb", "dgx-h100", 0.05),
         ("one stage to 4", (4, 2, 1, 8), (4, 2, 4, 8), "dgx-a100-80gb", "dgx-a100-80gb", 0.05)]

failures = 0
with tempfile.TemporaryDirectory() as folder:
    print(f"{'':32} {'rescaled ms':>12} {'simulated ms':>13} {'error':>8} {'limit':>7}")
    for index, (what, captured, wanted, machine_from, machine_to, limit) in enumerate(CASES):
        trace = os.path.join(folder, f"a{index}.json")
        simulated(scenario(folder, f"a{index}", *captured, machine_from), trace)
        expected = simulated(scenario(folder, f"b{index}", *wanted, machine_to))
        flags = [x for pair in zip(["--dp", "--tp", "--pp", "--micro-batches"], map(str, wanted)) for x in pair] + ["--machine", machine_to]
        if captured[2] == 1 and wanted[2] > 1:  # a sequence-parallel rank's share of 2,048 x 4,096 values of 2 bytes
            flags += ["--boundary", f"{16 // wanted[1]} MiB"]
        got = rescaled(trace, machine_from, flags)
        error = got / expected - 1.0
        bad = abs(error) > limit
        failures += bad
        print(f"{what:32} {got * 1e3:12.3f} {expected * 1e3:13.3f} {error * 100:+7.2f}% {limit * 100:6.0f}%{'  TOO FAR' if bad else ''}", flush=True)
        os.remove(trace)
sys.exit(1 if failures else 0)
