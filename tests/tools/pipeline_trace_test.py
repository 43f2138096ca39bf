#!/usr/bin/env python3
"""Traces of pipelines: a plan is simulated and its timeline written, imported, written as the profiler's files (one a rank), and imported again.

    pipeline_trace_test.py SGSIM SOURCE_DIR

For each plan: operations of every kind counted in the timeline itself are the ones that both imports report, none fewer or more; every send of an imported rank
is matched with its receive; and both imports replay to the simulated step time within 1 %. Prints a table; fails where one of these does not hold.
"""
import collections
import gzip
import json
import os
import re
import sys
import tempfile

import plans

SGSIM, SOURCE = sys.argv[1], os.path.abspath(sys.argv[2])
LIMIT = 0.01
PLANS = [("1f1b, pp 4", dict(dp=2, tp=2, pp=4, schedule="1f1b")),
         ("gpipe, pp 4", dict(dp=2, tp=1, pp=4, schedule="gpipe")),
         ("interleaved, pp 4, 2 chunks", dict(dp=1, tp=2, pp=4, schedule="interleaved", virtual_stages=2)),
         ("zb_h1, pp 4", dict(dp=1, tp=2, pp=4, schedule="zb_h1", recompute="none"))]
MICRO_BATCHES = 8


def scenario(folder, plan):
    tree = plans.llama(SOURCE)
    tree["cluster"]["nodes"] = plan["dp"] * plan["tp"] * plan["pp"] // 8
    tree["plan"].update(global_batch=plan["dp"] * MICRO_BATCHES, **plan)
    path = os.path.join(folder, "plan.json")
    with open(path, "w") as file:
        json.dump(tree, file)
    return path


def kind(event):
    return "send" if event["name"].startswith("send ") else "receive" if event["name"].startswith("receive ") else event["args"]["operation"]


def counts_of(path):
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    return collections.Counter(kind(e) for e in events if e["ph"] == "X" and e["cat"] == "communication")


def imported(path):
    text = plans.run(SGSIM, ["import", path, "--report"])
    counts = {m[2]: int(m[1]) for m in re.finditer(r"(\d+)  import\.\w+\.collectives\.(\w+)", text)}
    matched = re.search(r"(\d+) collectives matched", text)
    wrong = re.findall(r"\d+  import\.match\.(?:sends_and_receives_differ|sizes_differ|operations_differ|peer_not_imported).*", text)
    return counts, int(matched[1]) if matched else 0, wrong


def replayed(path):
    match = re.search(r"^all +([0-9.]+) +([0-9.]+)", plans.run(SGSIM, ["replay", path]), re.M)
    return float(match[2]) * 1e-3


failures = []
print(f"{'plan':30} {'sends':>6} {'receives':>8} {'all':>6} {'simulated ms':>13} {'timeline replayed':>18} {'files replayed':>16}")
with tempfile.TemporaryDirectory() as folder:
    for what, plan in PLANS:
        trace, files = os.path.join(folder, "t.json"), os.path.join(folder, what.replace(" ", "_").replace(",", ""))
        step = json.loads(plans.run(SGSIM, ["simulate", scenario(folder, plan), "--json", "--trace", trace]))["step_time_s"]
        plans.run(SGSIM, ["export", trace, "--to", "kineto", "-o", files])
        expected = counts_of(trace)
        stages = plan["pp"] * plan.get("virtual_stages", 1)
        pairs = 2 * (stages - 1) * MICRO_BATCHES  # activations and gradients over each boundary
        if expected["send"] != pairs or expected["receive"] != pairs:
            failures.append(f"{what}: {expected['send']} sends and {expected['receive']} receives in the timeline, {pairs} expected")
        errors = []
        for path in (trace, files):
            counts, matched, wrong = imported(path)
            if counts != dict(expected):
                failures.append(f"{what}: {path}: {counts} imported, {dict(expected)} written")
            if wrong:
                failures.append(f"{what}: {path}: {wrong}")
            if matched < pairs:
                failures.append(f"{what}: {path}: {matched} operations matched, at least {pairs} expected")
            errors.append(replayed(path) / step - 1.0)
        failures += [f"{what}: replay is off by {e * 100:.2f} %" for e in errors if abs(e) > LIMIT]
        print(f"{what:30} {expected['send']:6} {expected['receive']:8} {sum(expected.values()):6} {step * 1e3:13.3f} {errors[0] * 100:+17.2f}% {errors[1] * 100:+15.2f}%", flush=True)
for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
