#!/usr/bin/env python3
"""What PyTorch's host side costs, measured with plain PyTorch on one GPU: `sgsim-calibrate fit --host FILE` puts it into a profile.

    python3 calibrate/pytorch_overhead.py --out pytorch_host.json [--minutes 3]

Every graph here is a micro-graph whose kernels take a few microseconds, so that the host sets the pace; none is a model that the
simulator is validated on. Host time is wall time from the first call to the return of the last, the device idle before it and
the profiler off; counts of kernels and of aten calls come from separate runs. Units stand in the keys. Constants that the
simulator wants are least-squares lines over several micro-graphs; each comes with its error on them.
"""
import argparse
import contextlib
import json
import os
import platform
import statistics
import sys
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
import torch
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = "cuda"
WIDTH, ROWS = 128, 32  # kernels of a few microseconds


def host_us(call, calls=1, before=None, seconds=0.3):
    """Median host microseconds of `call`, run on an idle device for about `seconds`; `calls`: how many of it a sample holds."""
    samples = []
    end_of_time = time.perf_counter() + seconds
    while len(samples) < 15 or (time.perf_counter() < end_of_time and len(samples) < 2000):
        if before is not None:
            before()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append((time.perf_counter() - begin) / calls * 1e6)
    torch.cuda.synchronize()
    return statistics.median(samples[3:])  # three to warm up


class CountCalls(TorchDispatchMode):
    """Counts aten calls as AOTAutograd's graphs list them: leaves, views included."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if "detach" not in str(func):
            self.calls += 1
        return func(*args, **(kwargs or {}))


def aten_calls(call):
    with CountCalls() as counter:
        call()
    torch.cuda.synchronize()
    return counter.calls


def kernels_of(call):
    """(Triton kernels, other kernels) that one call launches, by the profiler; copies and fills by the runtime are not kernels."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        call()
        torch.cuda.synchronize()
    names = [e.name for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False)
             and not e.name.startswith(("Memcpy", "Memset", "##", "Torch-Compiled", "ProfilerStep", "Optimizer"))]
    triton = sum(1 for n in names if n.startswith("triton_"))
    return triton, len(names) - triton


def least_squares(rows, values):
    """Non-negative coefficients of values ~ rows, least relative error; and the median relative error."""
    import numpy
    a, y = numpy.array(rows, float), numpy.array(values, float)
    scaled, ones = a / y[:, None], numpy.ones(len(y))
    active = list(range(a.shape[1]))
    while True:
        x = numpy.zeros(a.shape[1])
        x[active] = numpy.linalg.lstsq(scaled[:, active], ones, rcond=None)[0]
        if (x >= 0).all():
            break
        active.remove(int(numpy.argmin(x)))
    errors = numpy.abs(a @ x / y - 1)
    return [float(v) for v in x], float(numpy.median(errors))


# ---- eager ------------------------------------------------------------------------------------------------------------------

def tensors():
    x = torch.randn(ROWS, WIDTH, device=DEVICE)
    return {"x": x, "h": x.bfloat16(), "w": torch.randn(WIDTH, WIDTH, device=DEVICE), "wh": torch.randn(WIDTH, WIDTH, device=DEVICE).bfloat16(),
            "g": torch.ones(WIDTH, device=DEVICE), "ids": torch.randint(0, ROWS, (ROWS,), device=DEVICE), "s": torch.randn(4, 2, 32, 32, device=DEVICE).bfloat16()}


def eager_classes():
    """Host cost of one operator by class, with and without autograd recording."""
    t = tensors()
    functional = torch.nn.functional
    table = {
        "view": lambda: t["x"].view(WIDTH, ROWS), "transpose": lambda: t["x"].transpose(0, 1), "empty": lambda: torch.empty(ROWS, WIDTH, device=DEVICE),
        "add": lambda: t["x"] + t["x"], "gelu": lambda: functional.gelu(t["x"]), "cast": lambda: t["x"].to(torch.bfloat16), "sum": lambda: t["x"].sum(),
        "softmax": lambda: torch.softmax(t["x"], -1), "layer_norm": lambda: functional.layer_norm(t["x"], (WIDTH,), t["g"], t["g"]),
        "mm": lambda: torch.mm(t["h"], t["wh"]), "linear": lambda: functional.linear(t["h"], t["wh"], None), "bmm": lambda: torch.bmm(t["s"][0], t["s"][0]),
        "cat": lambda: torch.cat((t["x"], t["x"])), "embedding": lambda: functional.embedding(t["ids"], t["x"]),
        "attention": lambda: functional.scaled_dot_product_attention(t["s"], t["s"], t["s"], is_causal=True),
    }
    result = {}
    for name, call in table.items():
        call()
        with torch.no_grad():
            result[name] = {"no_grad_us": host_us(call, calls=40)}
        for key in ("x", "h", "w", "wh", "g", "s"):
            t[key].requires_grad_(True)
        result[name]["recorded_us"] = host_us(call, calls=40)
        for key in ("x", "h", "w", "wh", "g", "s"):
            t[key].requires_grad_(False)
        result[name]["aten_calls"] = aten_calls(call)
        result[name]["kernels"] = sum(kernels_of(call))
    return result


class Mixer(torch.nn.Module):
    """Linear, norm, activation, residual: an autocast block of products and pointwise operators."""

    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, width), torch.nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Split(torch.nn.Module):
    """Many views and casts about one attention."""

    def __init__(self, width):
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (y.view(1, ROWS, 4, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        a = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(a.transpose(1, 2).reshape(ROWS, -1))


class Chain(torch.nn.Module):
    """Pointwise operators and reductions that do not fuse into one kernel: alternating softmaxes."""

    def __init__(self, width):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(width))

    def forward(self, x):
        x = torch.softmax(x * self.scale, 0)
        return torch.softmax(x * self.scale, 1) + 1.0


class Products(torch.nn.Module):
    """Products only."""

    def __init__(self, width):
        super().__init__()
        self.a, self.b = (torch.nn.Linear(width, width, bias=False) for _ in range(2))

    def forward(self, x):
        return self.b(self.a(x))


class Mixed(torch.nn.Module):
    """Both kinds of block: graphs of many different kernels."""

    def __init__(self, width):
        super().__init__()
        self.first, self.second = Split(width), Mixer(width)

    def forward(self, x):
        return self.second(self.first(x))


class Scales(torch.nn.Module):
    """Many parameters and few kernels."""

    def __init__(self, width):
        super().__init__()
        self.scales = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(width)) for _ in range(12))

    def forward(self, x):
        for scale in self.scales:
            x = x * scale
        return x


def stack(block, depth):
    return torch.nn.Sequential(*(block(WIDTH) for _ in range(depth))).to(DEVICE)


def passes(model):
    """The forward and the backward pass of a training step, as closures that share a loss."""
    x = torch.randn(ROWS, WIDTH, device=DEVICE, requires_grad=True)
    state = {}

    def forward():
        with torch.autocast(DEVICE, torch.bfloat16):
            state["loss"] = model(x).float().sum()

    def backward():
        state["loss"].backward()

    def clear():
        for p in model.parameters():
            p.grad = None
        x.grad = None

    return forward, backward, clear


def time_passes(model, seconds=0.5):
    forward, backward, clear = passes(model)
    for _ in range(3):
        forward(), backward(), clear()
    forward_us = host_us(forward, before=clear, seconds=seconds)
    return forward_us, host_us(backward, before=lambda: (clear(), forward()), seconds=2 * seconds)


def count_kernels(model):
    forward, backward, clear = passes(model)
    forward(), backward(), clear()
    return {"forward_kernels": kernels_of(forward), "backward_kernels": kernels_of(backward)}


def count_calls(model):
    forward, backward, clear = passes(model)
    forward(), backward(), clear()
    return {"forward_calls": aten_calls(forward), "backward_calls": aten_calls(backward)}


def eager_stacks():
    rows = []
    for block in (Mixer, Split, Chain, Products):
        for depth in (4, 16):
            model = stack(block, depth)
            forward_us, backward_us = time_passes(model)
            rows.append({"block": block.__name__, "depth": depth, "parameters": sum(1 for _ in model.parameters()), "forward_us": forward_us, "backward_us": backward_us,
                         **count_kernels(model), **count_calls(model)})
    # A view costs as a call, a kernel as a call and a launch: the split into the two comes from stacks with few and many views.
    forward, forward_error = least_squares([[1, r["forward_calls"], sum(r["forward_kernels"])] for r in rows], [r["forward_us"] for r in rows])
    per_call, per_kernel = forward[1], forward[2]
    extra = [r["backward_us"] - per_call * r["backward_calls"] - per_kernel * sum(r["backward_kernels"]) for r in rows]
    backward, _ = least_squares([[1, r["backward_calls"]] for r in rows], [max(1.0, e) for e in extra])
    predicted = [backward[0] + (per_call + backward[1]) * r["backward_calls"] + per_kernel * sum(r["backward_kernels"]) for r in rows]
    backward_error = statistics.median(abs(p / r["backward_us"] - 1) for p, r in zip(predicted, rows))
    return {"stacks": rows, "forward_fixed_us": forward[0], "per_call_us": per_call, "per_kernel_us": per_kernel, "forward_error": forward_error,
            "backward_fixed_us": backward[0], "backward_extra_per_call_us": backward[1], "backward_error": backward_error}


# ---- compiled ---------------------------------------------------------------------------------------------------------------

def compiled_rows(blocks):
    rows = []
    for block, depths in blocks:
        for depth in depths:
            torch._dynamo.reset()
            model = torch.compile(stack(block, depth))
            begin = time.perf_counter()
            forward, backward, _ = passes(model)
            forward(), backward()
            torch.cuda.synchronize()
            compile_s = time.perf_counter() - begin
            forward_us, backward_us = time_passes(model)
            rows.append({"block": block.__name__, "depth": depth, "parameters": sum(1 for _ in model.parameters()), "compile_s": compile_s,
                         "forward_us": forward_us, "backward_us": backward_us, **count_kernels(model)})
    return rows


def compiled_large():
    """Hundreds of launches of different kernels, whose wrapper code no cache of the processor holds; less of it fits where a step has more."""
    return {"stacks": compiled_rows(((Mixed, (6, 14)),))}


def compiled_stacks():
    rows = compiled_rows(((Mixer, (3, 9)), (Chain, (3, 9)), (Products, (3, 9)), (Scales, (1, 3))))
    # One line for both passes: what each costs once, a launch, what an extern (library) call costs more than a generated kernel,
    # and backward each parameter, whose gradient is accumulated by a node of its own outside the compiled region.
    lines = [[1, 0, sum(r["forward_kernels"]), r["forward_kernels"][1], 0] for r in rows]
    lines += [[0, 1, sum(r["backward_kernels"]), r["backward_kernels"][1], r["parameters"]] for r in rows]
    line, error = least_squares(lines, [r["forward_us"] for r in rows] + [r["backward_us"] for r in rows])
    return {"stacks": rows, "forward_fixed_us": line[0], "backward_fixed_us": line[1], "per_kernel_us": line[2], "extern_extra_us": line[3],
            "backward_per_parameter_us": line[4], "error": error}


# ---- optimizer, CUDA graphs, loop, communication hooks ----------------------------------------------------------------------------

def optimizers():
    result = {}
    for kind in ("fused", "foreach"):
        rows = []
        for count in (16, 64, 256):
            parameters = [torch.nn.Parameter(torch.zeros(256, device=DEVICE)) for _ in range(count)]
            grads = [torch.zeros(256, device=DEVICE) for _ in parameters]

            def give():
                for p, g in zip(parameters, grads):
                    p.grad = g

            give()
            optimizer = torch.optim.AdamW(parameters, lr=1e-4, **{kind: True})
            optimizer.step()
            rows.append({"tensors": count, "step_us": host_us(optimizer.step), "zero_grad_us": host_us(optimizer.zero_grad, before=give)})
        line, error = least_squares([[1, r["tensors"]] for r in rows], [r["step_us"] for r in rows])
        zero, _ = least_squares([[1, r["tensors"]] for r in rows], [r["zero_grad_us"] for r in rows])
        result[kind] = {"steps": rows, "fixed_us": line[0], "per_tensor_us": line[1], "error": error, "zero_grad_fixed_us": zero[0], "zero_grad_per_tensor_us": zero[1]}
    return result


def cuda_graphs():
    rows = []
    x = torch.randn(ROWS, WIDTH, device=DEVICE)
    for nodes in (1, 16, 256, 1024):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(nodes):
                x.mul_(1.0)
        rows.append({"nodes": nodes, "replay_us": host_us(graph.replay)})
    line, _ = least_squares([[1, r["nodes"]] for r in rows], [r["replay_us"] for r in rows])
    return {"replays": rows, "replay_fixed_us": line[0], "replay_per_node_us": line[1]}


def reduce_overhead():
    """torch.compile's own CUDA graphs: a step of two replays, with the copies, checks and gradients around them."""
    compiled = []
    for depth in (3, 9):
        torch._dynamo.reset()
        model = torch.compile(stack(Mixer, depth), mode="reduce-overhead")
        forward, backward, clear = passes(model)

        def step():
            torch.compiler.cudagraph_mark_step_begin()
            forward(), backward(), clear()

        for _ in range(5):
            step()
        compiled.append({"depth": depth, "parameters": sum(1 for _ in model.parameters()), "step_us": host_us(step)})
    line, _ = least_squares([[1, r["parameters"]] for r in compiled], [r["step_us"] for r in compiled])
    return {"steps": compiled, "fixed_us": line[0], "per_parameter_us": line[1]}


def loop():
    host = torch.randint(0, 1000, (ROWS, WIDTH)).pin_memory()
    loss = torch.zeros((), device=DEVICE)
    return {"copy_to_device_us": host_us(lambda: host.to(DEVICE, non_blocking=True), calls=10), "item_us": host_us(loss.item), "synchronize_us": host_us(torch.cuda.synchronize, calls=10),
            "stream_switch_us": host_us(lambda s=torch.cuda.Stream(): s.wait_stream(torch.cuda.current_stream()), calls=20), "event_record_us": host_us(lambda e=torch.cuda.Event(): e.record(), calls=20)}


def communication():
    """Host cost of c10d calls and of data-parallel hooks, on a group of one rank: the calls, hooks and copies are those of any group."""
    import torch.distributed as dist
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29533")
    torch.cuda.set_device(0)
    dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0))
    try:
        small, out = torch.zeros(1024, device=DEVICE), torch.zeros(1024, device=DEVICE)
        result = {"calls": {}}
        table = {"all_reduce": lambda: dist.all_reduce(small, async_op=True), "all_gather": lambda: dist.all_gather_into_tensor(out, small, async_op=True),
                 "reduce_scatter": lambda: dist.reduce_scatter_tensor(out, small, async_op=True), "broadcast": lambda: dist.broadcast(small, 0, async_op=True)}
        for name, call in table.items():
            result["calls"][name + "_us"] = host_us(call, calls=10)
        result["wait_us"] = host_us(lambda w=dist.all_reduce(small, async_op=True): w.wait(), calls=10)
        result["ddp"] = hooks(lambda model: torch.nn.parallel.DistributedDataParallel(model, device_ids=[0], bucket_cap_mb=0.12))
        from torch.distributed.fsdp import fully_shard

        def shard(model):
            for layer in model:
                fully_shard(layer)
            return fully_shard(model)
        result["fsdp2"] = hooks(shard)
    finally:
        dist.destroy_process_group()
    return result


def hooks(wrap):
    """Host time of a step with and without the wrapper; the difference a layer, for layers of six tensors each."""
    rows = []
    for depth in (4, 16):
        plain = sum(time_passes(stack(Mixer, depth)))
        wrapped = sum(time_passes(wrap(stack(Mixer, depth))))
        rows.append({"layers": depth, "tensors_a_layer": 6, "plain_us": plain, "wrapped_us": wrapped})
    extra = [r["wrapped_us"] - r["plain_us"] for r in rows]
    slope = (extra[1] - extra[0]) / (rows[1]["layers"] - rows[0]["layers"])
    return {"steps": rows, "per_layer_us": slope, "fixed_us": extra[0] - slope * rows[0]["layers"]}


# ---- the file -----------------------------------------------------------------------------------------------------------------

def cpu_name():
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def main():
    parser = argparse.ArgumentParser(description="Measure the host cost of PyTorch's execution modes")
    parser.add_argument("--out", default="pytorch_host.json")
    parser.add_argument("--only", action="append", help="a section; may be given more than once")
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no section after this long")
    flags = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("no GPU that PyTorch can use")
    torch.set_float32_matmul_precision("high")
    report = {"format": "sgsim-pytorch-host", "version": 1, "machine": f"{torch.cuda.get_device_name(0)}, {cpu_name()}", "date": time.strftime("%Y-%m-%d"),
              "software": f"PyTorch {torch.__version__}, Python {platform.python_version()}, CUDA {torch.version.cuda}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}",
              "sections": {}, "missing": {}}
    sections = {"eager_classes": eager_classes, "eager_stacks": eager_stacks, "optimizers": optimizers, "loop": loop, "cuda_graphs": cuda_graphs, "communication": communication,
                "compiled_stacks": compiled_stacks, "compiled_large": compiled_large, "reduce_overhead": reduce_overhead}
    begin = time.perf_counter()
    torch.zeros(1, device=DEVICE)
    for name, measure in sections.items():
        if flags.only and name not in flags.only:
            continue
        if time.perf_counter() - begin > 60.0 * flags.minutes:
            report["missing"][name] = "no time left"
            continue
        start = time.perf_counter()
        try:
            report["sections"][name] = measure()
        except Exception as error:  # one section's failure must not lose the others
            report["missing"][name] = f"{type(error).__name__}: {error}"[:400]
        print(f"{name}: {time.perf_counter() - start:.1f} s {report['missing'].get(name, '')}", flush=True)
        with open(flags.out, "w") as f:
            json.dump(report, f, indent=1, sort_keys=True)
            f.write("\n")


if __name__ == "__main__":
    main()
