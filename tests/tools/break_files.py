#!/usr/bin/env python3
"""Tries to break the readers: files of others, cut short and with bytes changed, must be read or refused, within time and memory.

    break_files.py SGSIM FOLDER [SECONDS] [SEED]

Exit codes 0 and 2 (bad input) are good; anything else, a signal, a run of more than 60 s or of more than 1.5 GiB is printed and fails.
"""
import glob
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

SGSIM, FOLDER = sys.argv[1], sys.argv[2]
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 120.0
random.seed(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
LIMIT = 3 << 29  # bytes


def damage(data):
    kind = random.randrange(5)
    data = bytearray(data)
    if kind == 0:
        return data[:random.randrange(len(data) + 1)], "cut"
    if kind == 1:
        for _ in range(random.choice([1, 8, 64])):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        return data, "bits"
    if kind == 2:
        at = random.randrange(len(data))
        data[at:at + random.randrange(1, 64)] = b"\0" * random.randrange(1, 64)
        return data, "nul"
    if kind == 3:
        at, to, size = random.randrange(len(data)), random.randrange(len(data)), random.randrange(1, 4096)
        data[to:to] = data[at:at + size]
        return data, "twice"
    for _ in range(4):  # numbers become other numbers
        at = random.randrange(len(data))
        digits = [i for i in range(at, min(len(data), at + 2000)) if chr(data[i]).isdigit()]
        if digits:
            data[random.choice(digits)] = ord(random.choice("0123456789-eE."))
    return data, "digits"


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT * 2, LIMIT * 2))


files = [f for f in glob.glob(os.path.join(FOLDER, "**"), recursive=True) if os.path.isfile(f) and 0 < os.path.getsize(f) < (4 << 20) and not f.endswith(".tsv")]
runs = bad = read = 0
started = time.time()
with tempfile.TemporaryDirectory() as folder:
    while time.time() - started < SECONDS:
        file = random.choice(files)
        data = open(file, "rb").read()
        packed = data[:2] == b"\x1f\x8b"
        if packed and random.random() < 0.8:  # inside of the packing, most often
            try:
                data = gzip.decompress(data)
            except Exception:
                pass
        if not data or len(data) > (64 << 20):
            continue
        broken, how = damage(data)
        path = os.path.join(folder, "x")
        with open(path, "wb") as out:
            out.write(broken)
        command = random.choice([["import", path], ["replay", path], ["replay", path, "--machine", "dgx-h100", "--captured-dp", "8"], ["info", path]])
        begin = time.time()
        try:
            result = subprocess.run([SGSIM] + command, capture_output=True, timeout=60, preexec_fn=limits)
            code, text = result.returncode, result.stderr[-300:]
        except subprocess.TimeoutExpired:
            code, text = "time", b""
        runs += 1
        read += code == 0
        if code not in (0, 2):
            bad += 1
            kept = os.path.join(tempfile.gettempdir(), f"broken_{runs}_{how}")
            with open(kept, "wb") as out:
                out.write(broken)
            print(f"{command[0]} {file} {how}: exit {code} after {time.time() - begin:.1f} s, kept as {kept}\n    {text.decode(errors='replace').strip()[:300]}", flush=True)
print(f"{runs} runs: {read} read, {runs - read - bad} refused, {bad} broken; children used {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10} MiB at most")
sys.exit(1 if bad else 0)
