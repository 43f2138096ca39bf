#!/usr/bin/env python3
"""How fast `sgsim import` reads a large plain Kineto file on one core, and how much memory it takes.

    tests/bench/import_speed.py [--sgsim build/release/bin/sgsim] [--source TRACE.json.gz] [--size 600e6] [--repeat 7] [--dir DIR]

Writes a file of --size bytes in the profiler's own layout (or the events of --source over and over, times and correlations going on),
reads it --repeat times, each in a process of its own, and prints medians: megabytes a second of processor time (user and system), of wall time, peak
resident memory. The file is removed at the end. Exit code 1: a target was missed (150 MB/s of processor time, 1.5 GiB).
"""
import argparse
import gzip
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEAST_MB_PER_S, MOST_MIB = 150.0, 1536.0
NUMBERS = re.compile(r'("ts": ?|"External id": ?|"correlation": ?|"id": ?)"?(\d+)')
HEAD = '{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {\n      "id": 0, "name": "NVIDIA A100-SXM4-80GB", "numSms": 108\n    }\n  ],\n  "traceEvents": [\n'
TAIL = '\n  ],\n  "traceName": "bench.json"\n}\n'


def made():
    """100 operators with launch, kernel and arrows, as the profiler writes them."""
    parts = []
    for i in range(100):
        t, c = 1700000000000000 + 60 * i, i + 1
        parts.append(f'''  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 2590092, "tid": 2590092,
    "ts": {t}.125, "dur": 33.500,
    "args": {{
      "External id": {c},"Record function id": 0, "Concrete Inputs": ["", "[2048, 4, 4096]", "False", "1"], "Input type": ["c10::Half", "c10::Half", "c10::Half", "Scalar"], "Input Strides": [[1], [4096, 1], [1, 4096], []], "Input Dims": [[4096], [8192, 4096], [4096, {64 * (i % 8 + 1)}], []], "Ev Idx": {c}
    }}
  }}''')
        parts.append(f'''  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 2590092, "tid": 2590092,
    "ts": {t + 10}, "dur": 4,
    "args": {{
      "External id": {c},
      "cbid": 211, "correlation": {c}
    }}
  }},
  {{
    "ph": "s", "id": {c}, "pid": 2590092, "tid": 2590092, "ts": {t + 10},
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize192x128x32_stage4_warpsize4x2x1_tensor16x8x16_kernel", "pid": 0, "tid": 7,
    "ts": {t + 20}.250, "dur": 38.016,
    "args": {{
      "External id": {c},
      "queued": 0, "device": 0, "context": 1,
      "stream": 7, "correlation": {c},
      "registers per thread": 192,
      "shared memory": 81920,
      "blocks per SM": 4.7777777,
      "warps per SM": 38.22222,
      "grid": [43, 12, 1],
      "block": [256, 1, 1],
      "est. achieved occupancy %": 0
    }}
  }},
  {{
    "ph": "f", "id": {c}, "pid": 0, "tid": 7, "ts": {t + 20}.250,
    "cat": "ac2g", "name": "ac2g", "bp": "e"
  }}''')
    return HEAD, ",\n".join(parts), TAIL


def source(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        text = file.read().decode("latin1")
    begin, end = text.index("[", text.index('"traceEvents"')) + 1, text.rindex("]")
    body = text[begin:end].rstrip()
    return text[:begin], body[:body.rindex("}") + 1], text[end:]


def write(path, parts, size):
    head, body, tail = parts
    pieces, at, times = [], 0, []
    for match in NUMBERS.finditer(body):
        is_time = match[1].startswith('"ts')
        pieces += [body[at:match.start(2)], (is_time, int(match[2]))]
        times += [int(match[2])] if is_time else []
        at = match.end(2)
    pieces.append(body[at:])
    times.sort()
    period = int((times[-1 - len(times) // 100] - times[len(times) // 100]) * 1.05) + 1000
    with open(path, "w", encoding="latin1") as file:
        file.write(head)
        written, n = 0, 0
        while True:
            written += file.write("".join(p if isinstance(p, str) else str(p[1] + n * (period if p[0] else 1000000)) for p in pieces))
            n += 1
            if written >= size:
                break
            file.write(",\n")
        file.write(tail)


def run(program, path):
    process = subprocess.Popen([program, "import", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = os.times().elapsed
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{program} import {path}: exit code {process.returncode}")
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": os.times().elapsed - begin, "mib": usage.ru_maxrss / 1024.0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sgsim", default=os.path.join(ROOT, "build/release/bin/sgsim"))
    parser.add_argument("--source")
    parser.add_argument("--size", type=float, default=600e6)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--dir")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        path = os.path.join(folder, "large.json")
        write(path, source(args.source) if args.source else made(), args.size)
        size = os.path.getsize(path)
        runs = [run(args.sgsim, path) for _ in range(args.repeat)]
    cpu, wall, mib = (statistics.median(r[key] for r in runs) for key in ("cpu", "wall", "mib"))
    print(f"{size / 1e6:,.0f} MB, median of {args.repeat}: {size / cpu / 1e6:.0f} MB/s of processor time ({min(size / r['cpu'] for r in runs) / 1e6:.0f} to "
          f"{max(size / r['cpu'] for r in runs) / 1e6:.0f}), {size / wall / 1e6:.0f} MB/s of wall time, {mib:.0f} MiB; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0 if size / cpu / 1e6 >= LEAST_MB_PER_S and mib <= MOST_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
