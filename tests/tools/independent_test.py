#!/usr/bin/env python3
"""What SGSim reads of others' files against a reading of the same files by Python's own json and sqlite3: numbers and total times must be equal.

    independent_test.py TOOLS_SAMPLE SOURCE_DIR

Needs nothing beside Python; skipped (77) where shared/files is not beside the project. Prints a line a file that differs and a table by format.
"""
import collections
import decimal
import glob
import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile

SAMPLE, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHARED = os.path.join(SOURCE, "..", "shared", "files")
if not os.path.isdir(SHARED):
    print("skipped: no shared/files beside the project")
    sys.exit(77)


def sums(path):
    """What SGSim read; None where it refused."""
    result = subprocess.run([SAMPLE, "sums", path], capture_output=True, text=True)
    if result.returncode != 0 or not result.stdout:
        return None
    words = result.stdout.split()
    return {words[i]: words[i + 1] if words[i] == "format" else int(words[i + 1]) for i in range(0, len(words) - 1, 2)}


def data_of(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def nsys(path):
    with tempfile.NamedTemporaryFile() as file:
        file.write(data_of(path))
        file.flush()
        base = sqlite3.connect(file.name)
        tables = {row[0] for row in base.execute("select name from sqlite_master where type = 'table'")}

        def of(table, *columns):
            if table not in tables:
                return [0] * len(columns)
            return [v or 0 for v in base.execute(f"select {', '.join(columns)} from {table}").fetchone()]

        time = "sum(end - start)"
        kernels, kernel_ns = of("CUPTI_ACTIVITY_KIND_KERNEL", "count(*)", time)
        copies, copy_ns, copy_bytes = of("CUPTI_ACTIVITY_KIND_MEMCPY", "count(*)", time, "sum(bytes)")
        sets, set_ns = of("CUPTI_ACTIVITY_KIND_MEMSET", "count(*)", time)
        calls, call_ns = of("CUPTI_ACTIVITY_KIND_RUNTIME", "count(*)", time)
        base.close()
        return dict(kernels=kernels, kernel_ns=kernel_ns, copies=copies, copy_ns=copy_ns, copy_bytes=copy_bytes, sets=sets, set_ns=set_ns, calls=calls, call_ns=call_ns)


def nanoseconds(value):
    ns = decimal.Decimal(str(value)) * 1000
    return int(ns.quantize(decimal.Decimal(1), rounding=decimal.ROUND_HALF_UP))


KINDS = {"kernel": "kernel", "Kernel": "kernel", "concurrent_kernel": "kernel", "mtia_kernel": "kernel", "gpu_memcpy": "copie", "Memcpy": "copie", "gpu_memset": "set", "Memset": "set",
         "cuda_runtime": "call", "cuda_driver": "call", "Runtime": "call", "hip_runtime": "call", "mtia_runtime": "call",
         "cpu_op": "op", "Operator": "op", "user_annotation": "op", "python_function": "op"}


def kineto(path):
    text = data_of(path).decode("utf-8", "replace")
    tree = json.loads(text, strict=False, parse_float=decimal.Decimal)
    found = collections.Counter(kernels=0, kernel_ns=0, copies=0, copy_ns=0, sets=0, set_ns=0, calls=0, call_ns=0, ops=0, op_ns=0)
    for event in tree["traceEvents"] if isinstance(tree, dict) else tree:
        kind = KINDS.get(event.get("cat")) if event.get("ph") == "X" else None
        if kind is None:
            continue
        found[kind + "s"] += 1
        found[kind.removesuffix("ie") + ("y" if kind == "copie" else "") + "_ns"] += max(0, nanoseconds(event.get("dur") or 0))
    return found


def execution_trace(path):
    tree = json.loads(data_of(path).decode("utf-8", "replace"), strict=False)
    # The root, the threads' nodes below it and the node of process groups are no operators.
    ids = {n["id"] for n in tree["nodes"]}
    return dict(nodes=len(ids))


def messages(data):
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield data[at:at + size]
        at += size


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, message[at:at + 8]
            at += 8
        elif kind == 5:
            yield key >> 3, message[at:at + 4]
            at += 4
        else:
            size = varint()
            yield key >> 3, message[at:at + size]
            at += size


def chakra(path):
    data = data_of(path)
    if data.lstrip()[:1] in (b"{", b"["):
        return None  # JSON spellings differ too much for an independent reading in a few lines
    found = dict(nodes=0, micros=0)
    for index, message in enumerate(messages(data)):
        entries = list(fields(message))
        numbers = {number for number, _ in entries}
        if index == 0 and not numbers & {3, 4, 5, 7}:  # metadata: a version, attributes
            continue
        found["nodes"] += 1
        found["micros"] += sum(value for number, value in entries if number == 7 and isinstance(value, int))
    return found


READERS = {"nsys": nsys, "kineto": kineto, "pytorch_et": execution_trace, "chakra": chakra}
table = collections.defaultdict(collections.Counter)
failures = 0
files = [f for f in sorted(glob.glob(os.path.join(SHARED, "**"), recursive=True)) if os.path.isfile(f)]
for path in files:
    ours = sums(path)
    if ours is None or ours["format"] not in READERS:
        continue
    row = table[ours["format"]]
    try:
        theirs = READERS[ours["format"]](path)
    except (ValueError, KeyError, IndexError, EOFError, sqlite3.Error) as error:
        row["not read by Python"] += 1
        print(f"not read by Python: {os.path.relpath(path, SHARED)}: {str(error)[:100]}")
        continue
    if theirs is None:
        row["not compared"] += 1
        continue
    if "nodes" in theirs:
        ours["nodes"] = ours["ops"] + ours["kernels"] + ours["copies"] + ours["sets"]
        ours["micros"] = (ours["op_ns"] + ours["kernel_ns"] + ours["copy_ns"] + ours["set_ns"]) // 1000
    differ = {key: (ours[key], value) for key, value in theirs.items() if ours[key] != value}
    row["differ" if differ else "equal"] += 1
    failures += bool(differ)
    if differ:
        print(f"DIFFERS {ours['format']} {os.path.relpath(path, SHARED)}: (ours, Python's) {differ}")
for name, row in sorted(table.items()):
    print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in sorted(row.items())))
sys.exit(1 if failures else 0)
