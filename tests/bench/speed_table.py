#!/usr/bin/env python3
"""Time and memory of whole predictions, `sgsim simulate` from reading the scenario to the result, from 64 to 16,384 GPUs: a Markdown table.

    tests/bench/speed_table.py [--sgsim build/release/bin/sgsim] [--repeat 5] [--gpus 64,1024] [--engines folded,full,simgrid] [--plans 3d,fsdp]
                               [--most-full 16384] [--most-simgrid 1024]

The two jobs of LLaMA-3-70B on A100s that ship, with more or fewer nodes: TP 8, PP 8, DP = GPUs / 64, 128 micro-batches; FSDP over all
ranks, one micro-batch a rank. Medians of --repeat runs, each a process of its own: wall_s of the result; user and system CPU
seconds of the process; its peak resident memory. Exit code 1: a target of docs/engines.md was missed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FLAGS = {"folded": [], "full": ["--full"], "simgrid": ["--engine", "simgrid", "--full"]}
TITLES = {"folded": "fast, folded", "full": "fast, every rank", "simgrid": "simgrid, every rank"}
GIB = 1024.0
# seconds (of wall_s), MiB
TARGETS = {("folded", 1024): (0.1, None), ("full", 1024): (3.0, GIB), ("simgrid", 1024): (30.0, 3 * GIB), ("folded", 16384): (0.5, None)}


def settings(plan, gpus):
    nodes = [f"cluster.nodes={gpus // 8}"]
    if plan == "3d":
        return nodes + [f"plan.dp={gpus // 64}", f"plan.global_batch={gpus // 64 * 128}"]
    return nodes + [f"plan.global_batch={gpus}"]


def run(program, plan, gpus, engine):
    name = "llama3-70b-1024xa100-3d.json" if plan == "3d" else "llama3-70b-1024xa100.json"
    command = [program, "simulate", os.path.join(ROOT, "scenarios", name), "--json"] + FLAGS[engine]
    for setting in settings(plan, gpus):
        command += ["--set", setting]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 4):  # 4: does not fit in memory, predicted all the same
            sys.exit(f"{' '.join(command)}: exit code {process.returncode}")
        out.seek(0)
        result = json.load(out)
    return {"wall": result["wall_s"], "cpu": usage.ru_utime + usage.ru_stime, "user": usage.ru_utime, "mib": usage.ru_maxrss / 1024.0,
            "step": result["step_time_s"], "classes": result["rank_classes"], "tasks": result["tasks"]}


def median(runs):
    return {key: statistics.median(r[key] for r in runs) for key in runs[0]}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sgsim", default=os.path.join(ROOT, "build/release/bin/sgsim"))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--gpus", default="64,256,1024,4096,16384")
    parser.add_argument("--engines", default="folded,full,simgrid")
    parser.add_argument("--plans", default="3d,fsdp")
    parser.add_argument("--most-full", type=int, default=16384)
    parser.add_argument("--most-simgrid", type=int, default=1024)
    return parser.parse_args()


def main():
    args = parse()
    most = {"folded": 1 << 30, "full": args.most_full, "simgrid": args.most_simgrid}
    missed = []
    for plan in args.plans.split(","):
        print(f"\n{plan}\n\n| GPUs | engine | wall_s | user + system | peak memory | ranks simulated | tasks | step time |\n| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for gpus in map(int, args.gpus.split(",")):
            for engine in args.engines.split(","):
                if gpus > most[engine]:
                    continue
                m = median([run(args.sgsim, plan, gpus, engine) for _ in range(args.repeat)])
                print(f"| {gpus:,} | {TITLES[engine]} | {m['wall']:.3f} s | {m['cpu']:.3f} s | {m['mib']:.0f} MiB | {m['classes']:,.0f} | {m['tasks']:,.0f} | {m['step']:.6g} s |", flush=True)
                seconds, mib = TARGETS.get((engine, gpus), (None, None))
                if seconds and m["wall"] > seconds:
                    missed.append(f"{plan}, {gpus} GPUs, {TITLES[engine]}: {m['wall']:.3f} s, target {seconds} s")
                if mib and m["mib"] > mib:
                    missed.append(f"{plan}, {gpus} GPUs, {TITLES[engine]}: {m['mib']:.0f} MiB, target {mib:.0f} MiB")
    print(f"\nload average while measuring: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for line in missed:
        print("missed:", line)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
