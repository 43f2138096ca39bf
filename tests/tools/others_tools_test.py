#!/usr/bin/env python3
"""Files that SGSim writes, opened with the tools of those who defined them; values that SGSim reads, compared with theirs.

    others_tools_test.py TOOLS_SAMPLE SOURCE_DIR

Each check needs a Python package (onnx, perfetto, HolisticTraceAnalysis, protobuf) and is skipped, with a line that says
so, where it is not installed; all skipped: exit code 77. To run all:

    python3 -m venv tools-venv && tools-venv/bin/pip install onnx perfetto HolisticTraceAnalysis protobuf && tools-venv/bin/python tests/tools/others_tools_test.py build/release/bin/tools_sample .

Perfetto's trace processor is no part of its package: it is fetched when first used, and skipped where that fails.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

SAMPLE, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SHARED = os.path.join(SOURCE, "..", "shared", "files")
failures, ran, skipped = [], 0, 0


def check(name, good, detail=""):
    global ran
    ran += 1
    print(("ok      " if good else "FAILED  ") + name + (": " + str(detail) if detail else ""))
    if not good:
        failures.append(name)


def skip(name, why):
    global skipped
    skipped += 1
    print("skipped " + name + ": " + why)


def small_trace(folder):
    """A Kineto trace of our own making: two steps, each with two products and an all-reduce."""
    events = []
    for step in range(2):
        base = 1000.0 + 500 * step
        events.append(dict(ph="X", cat="user_annotation", name=f"ProfilerStep#{step}", pid=10, tid=10, ts=base, dur=490, args={}))
        for k, (name, stream, start, dur) in enumerate([("gemm_a", 7, 60, 100), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", 20, 120, 150), ("gemm_b", 7, 170, 120)]):
            corr = 100 * step + k + 1
            events.append(dict(ph="X", cat="cpu_op", name=f"aten::op{k}", pid=10, tid=10, ts=base + 10 + 20 * k, dur=15, args={"External id": corr}))
            events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=10, tid=10, ts=base + 12 + 20 * k, dur=5, args={"correlation": corr, "External id": corr}))
            args = {"correlation": corr, "stream": stream, "device": 0, "External id": corr}
            if stream == 20:
                args.update({"Collective name": "allreduce", "In msg nelems": 1024, "Out msg nelems": 1024, "dtype": "BFloat16", "Group size": 2, "Process Group Name": "0", "Process Group Ranks": "[0, 1]"})
            events.append(dict(ph="X", cat="kernel", name=name, pid=0, tid=stream, ts=base + start, dur=dur, args=args))
    path = os.path.join(folder, "small.json")
    with open(path, "w") as file:
        json.dump(dict(schemaVersion=1, distributedInfo=dict(backend="nccl", rank=0, world_size=2), deviceProperties=[dict(id=0, name="NVIDIA H200")], traceEvents=events), file)
    return path


def exported(folder, trace):
    """Counts that SGSim says it read."""
    result = subprocess.run([SAMPLE, "export", folder, trace], capture_output=True, text=True)
    if result.returncode != 0:
        check("export " + os.path.basename(trace), False, result.stderr.strip()[:300])
        return None
    words = result.stdout.split()
    return {words[i]: int(words[i + 1]) for i in range(0, len(words) - 1, 2)}


def chakra_classes():
    """et_def of MLCommons Chakra, schema 0.0.4, as far as we write it."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="chakra_subset.proto", package="c", syntax="proto3")
    F = descriptor_pb2.FieldDescriptorProto

    def message(name, fields):
        m = file.message_type.add(name=name)
        for number, field, kind, repeated, type_name in fields:
            m.field.add(name=field, number=number, type=kind, label=F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL, type_name=type_name)

    message("Attribute", [(1, "name", F.TYPE_STRING, False, None), (7, "int32_val", F.TYPE_INT32, False, None), (9, "int64_val", F.TYPE_INT64, False, None),
                          (13, "uint64_val", F.TYPE_UINT64, False, None), (27, "bool_val", F.TYPE_BOOL, False, None), (29, "string_val", F.TYPE_STRING, False, None)])
    message("Io", [(1, "values", F.TYPE_STRING, False, None), (2, "shapes", F.TYPE_STRING, False, None), (3, "types", F.TYPE_STRING, False, None)])
    message("Node", [(1, "id", F.TYPE_UINT64, False, None), (2, "name", F.TYPE_STRING, False, None), (3, "type", F.TYPE_INT32, False, None), (4, "ctrl_deps", F.TYPE_UINT64, True, None),
                     (5, "data_deps", F.TYPE_UINT64, True, None), (6, "start_time_micros", F.TYPE_UINT64, False, None), (7, "duration_micros", F.TYPE_UINT64, False, None),
                     (8, "inputs", F.TYPE_MESSAGE, False, ".c.Io"), (10, "attr", F.TYPE_MESSAGE, True, ".c.Attribute")])
    message("Metadata", [(1, "version", F.TYPE_STRING, False, None), (2, "attr", F.TYPE_MESSAGE, True, ".c.Attribute")])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return [message_factory.GetMessageClass(pool.FindMessageTypeByName("c." + name)) for name in ("Metadata", "Node")]


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


def check_chakra(folder, counts, name):
    try:
        Metadata, Node = chakra_classes()
    except ImportError:
        return skip("Chakra by protobuf", "no module google.protobuf")
    stream = list(messages(open(os.path.join(folder, "trace.0.et"), "rb").read()))
    metadata = Metadata.FromString(stream[0])
    nodes = [Node.FromString(message) for message in stream[1:]]
    ids = {node.id for node in nodes}
    known = all(dep in ids for node in nodes for dep in list(node.ctrl_deps) + list(node.data_deps))
    check(name + ": Chakra by protobuf", metadata.version == "0.0.4" and counts["ops"] + counts["calls"] + counts["device"] <= len(nodes) <= counts["ops"] + counts["calls"] + counts["device"] + counts["steps"] and len(ids) == len(nodes) and known,
          f"{len(nodes)} nodes, {sum(node.type == 7 for node in nodes)} collectives")
    check(name + ": Chakra leaves no unknown field", all(not [f for f in UnknownFields(node)] for node in nodes + [metadata]))
    groups = os.path.join(folder, "comm_group.json")
    named = {attribute.string_val for node in nodes for attribute in node.attr if attribute.name == "pg_name"}
    listed = json.load(open(groups)) if os.path.exists(groups) else {}
    check(name + ": Chakra groups as ASTRA-sim reads them", all(int(group) > 0 for group in named | set(listed)) and (named <= set(listed) or counts["groups_unlisted"] > 0), f"{len(named)} named, {len(listed)} listed")
    check(name + ": Chakra collectives", sum(node.type in (5, 6, 7) for node in nodes) <= counts["collectives"] or counts["collectives"] == 0)


def UnknownFields(message):
    from google.protobuf import unknown_fields
    return list(unknown_fields.UnknownFieldSet(message))


def check_perfetto(folder, counts, name):
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
    except ImportError:
        return skip("Perfetto by its own schema", "no module perfetto")
    trace = pb.Trace()
    trace.ParseFromString(open(os.path.join(folder, "trace.perfetto"), "rb").read())
    begins = sum(p.HasField("track_event") and p.track_event.type == pb.TrackEvent.TYPE_SLICE_BEGIN for p in trace.packet)
    ends = sum(p.HasField("track_event") and p.track_event.type == pb.TrackEvent.TYPE_SLICE_END for p in trace.packet)
    check(name + ": Perfetto by its own schema", begins == ends == counts["ops"] + counts["calls"] + counts["device"], f"{begins} slices")
    try:
        from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
        processor = TraceProcessor(trace=os.path.join(folder, "trace.perfetto"), config=TraceProcessorConfig(load_timeout=20))
    except Exception as error:  # the program itself is downloaded when it is first used
        return skip(name + ": Perfetto's trace processor", str(error).splitlines()[0][:120] if str(error) else type(error).__name__)
    slices = next(iter(processor.query("select count(*) as n from slice"))).n
    errors = {row.name: row.value for row in processor.query("select name, value from stats where severity = 'error' and value > 0")}
    check(name + ": Perfetto's trace processor", slices == begins and not errors, f"{slices} slices, errors {errors}")


def check_hta(folder, trace, counts, name):
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError:
        return skip(name + ": HolisticTraceAnalysis", "no module hta")
    import logging
    import warnings
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)

    def figures(files, where):
        analysis = TraceAnalysis(trace_files=files, trace_dir=where, include_last_profiler_step=True)
        result = {"device events": sum(int((t["stream"] >= 0).sum()) for t in analysis.t.traces.values())}
        times = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        result.update({key: float(times[key]) for key in ("compute_time(us)", "non_compute_time(us)", "idle_time(us)", "kernel_time(us)")})
        overlap = analysis.get_comm_comp_overlap(visualize=False)
        result["communication overlapped by computation (%)"] = float(overlap.iloc[0]["comp_comm_overlap_pctg"])
        kinds = analysis.get_gpu_kernel_breakdown(visualize=False)[0]
        result.update({"time of " + str(row.kernel_type): float(row["sum"]) for _, row in kinds.iterrows()})
        return {key: value for key, value in result.items() if value == value}  # without NaN: no communication

    try:
        mine = figures({0: os.path.join(folder, "rank-0.json.gz")}, folder)
    except Exception as error:
        return check(name + ": HolisticTraceAnalysis opens it", False, repr(error)[:300])
    theirs = figures({0: trace}, os.path.dirname(trace))
    check(name + ": HolisticTraceAnalysis opens it", mine["device events"] == theirs["device events"], f"{mine['device events']} device events")
    # It reads times as doubles and rounds them to whole microseconds, a quarter of one beside absolute times: 5,000 kernels lose up to 0.3 %.
    small = 4e-3 * theirs["kernel_time(us)"] + 2
    same = mine.keys() == theirs.keys() and all(abs(mine[key] - theirs[key]) <= small for key in theirs)
    check(name + ": HolisticTraceAnalysis agrees with the original", same, mine if same else f"{mine}, original {theirs}")


def check_onnx():
    try:
        import onnx
    except ImportError:
        return skip("ONNX shapes", "no module onnx")
    folder = os.path.join(SHARED, "onnx", "onnx-backend-test")
    if not os.path.isdir(folder):
        return skip("ONNX shapes", "no shared/files beside the project")
    values = wrong = models = 0
    for file in sorted(os.listdir(folder)):
        result = subprocess.run([SAMPLE, "onnx", os.path.join(folder, file)], capture_output=True, text=True)
        if result.returncode != 0:
            continue
        models += 1
        model = onnx.shape_inference.infer_shapes(onnx.load(os.path.join(folder, file), load_external_data=False))
        known = {v.name: [d.dim_value if d.HasField("dim_value") else None for d in v.type.tensor_type.shape.dim]
                 for v in list(model.graph.value_info) + list(model.graph.output) if v.type.tensor_type.HasField("shape")}
        ours = {}  # an operator may become several nodes "x", "x.1", "x.2": the last one is its result
        for line in result.stdout.splitlines():
            name, _, text = line.rpartition(" ")
            whole, dot, number = name.rpartition(".")
            ours[whole if dot and number.isdigit() and whole in ours and name not in known else name] = text
        for name, text in ours.items():
            expected = known.get(name)
            if expected is None or None in expected:
                continue
            values += 1
            if [int(n) for n in text.split(",") if n] != expected:
                wrong += 1
                print(f"  {file}: {name} is [{text}], onnx says {expected}")
    check("ONNX shapes as onnx infers them", values > 0 and wrong == 0, f"{values} values of {models} models, {wrong} differ")


with tempfile.TemporaryDirectory() as work:
    traces = [("small", small_trace(work))]
    real = os.path.join(SHARED, "kineto", "HTA", "ns_resolution_trace__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz")
    if os.path.exists(real):
        traces.append(("ns_resolution", real))
    else:
        skip("a trace of others", "no shared/files beside the project")
    measured = os.path.join(SHARED, "..", "truth", "h200", "bert_large_ddp2_eager.trace.json.gz")
    if os.path.exists(measured):
        traces.append(("bert_large_ddp2", measured))
    for name, trace in traces:
        folder = os.path.join(work, name)
        counts = exported(folder, trace)
        if counts is None:
            continue
        check_chakra(folder, counts, name)
        check_perfetto(folder, counts, name)
        check_hta(folder, trace, counts, name)
    check_onnx()
print(f"{ran - len(failures)} passed, {len(failures)} failed, {skipped} skipped")
sys.exit(1 if failures else 77 if ran == 0 else 0)
