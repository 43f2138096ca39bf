#!/usr/bin/env python3
"""What PyTorch's own kernels take on this GPU, and what they take when the GPU never rests: device times by the profiler (CUPTI).

    python3 calibrate/pytorch_kernels.py --out pytorch_kernels.json            # one GPU, about three minutes
    torchrun --nproc-per-node 2 calibrate/pytorch_kernels.py --two --out two.json   # kernels beside NCCL, kept up

ATen's kernels differ from plain streaming ones: mixed types, broadcast and strided operands are not read in vectors. The power sections
give what energy a flop and a byte cost and how much longer kernels take at the GPU's power limit. Shapes are no model's.
"""
import argparse
import json
import os
import platform
import statistics
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
import torch
from torch.profiler import ProfilerActivity, profile

DEVICE = "cuda"
SIZES = [1 << 18, 1 << 21, 1 << 23, 1 << 25, 1 << 27]  # elements


def kernels(call, repeat=6, flush=None):
    """Device microseconds of each kernel of one `call` (median over repetitions), in launch order."""
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(repeat):
            if flush is not None:
                flush.zero_()
            call()
        torch.cuda.synchronize()
    events = [e for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False)]
    events = sorted(events, key=lambda e: e.time_range.start)
    if flush is not None:  # what lies between two flushes is one repetition
        rounds, current = [], None
        for e in events:
            if "FillFunctor<unsigned char>" in e.name or ("Memset" in e.name and e.time_range.elapsed_us() > 30):
                current = []
                rounds.append(current)
            elif current is not None:
                current.append(e)
    else:
        each = len(events) // repeat
        rounds = [events[i * each:(i + 1) * each] for i in range(repeat)]
    rounds = [r for r in rounds if len(r) == len(rounds[-1])]
    return [{"name": rounds[0][i].name[:90], "us": statistics.median(r[i].time_range.elapsed_us() for r in rounds)} for i in range(len(rounds[0]))]


def elementwise():
    flush = torch.zeros(256 << 20, dtype=torch.uint8, device=DEVICE)
    rows = []
    for n in SIZES:
        w = 1024 if n <= 1 << 20 else 4096
        x, y = torch.randn(n // w, w, device=DEVICE), torch.randn(n // w, w, device=DEVICE)
        h, k = x.bfloat16(), y.bfloat16()
        row, col, rowh = torch.randn(w, device=DEVICE), torch.randn(n // w, 1, device=DEVICE), torch.randn(w, device=DEVICE).bfloat16()
        heads = h.view(-1, w // 64, 64).transpose(0, 1)  # strided: heads before tokens
        angle, mask = torch.randn(h.numel() // w, 64, device=DEVICE).bfloat16(), col > 0
        wide = torch.randn(n // w, 2 * w, device=DEVICE)
        grow = x.detach().clone().requires_grad_(True)
        table = {
            "vector f32 unary": lambda: x * 2.0, "vector f32 binary": lambda: x + y, "vector bf16 unary": lambda: h * 2.0, "vector bf16 binary": lambda: h + k,
            "vector cast to bf16": lambda: x.bfloat16(), "mixed cast to f32": lambda: h.float(), "mixed add": lambda: h + y, "mixed mul": lambda: x * k,
            "row bf16": lambda: h * rowh, "row f32": lambda: x * row, "column f32": lambda: x * col, "strided bf16 mul": lambda: heads * angle, "strided bf16 neg": lambda: -h[:, :w // 2],
            "strided contiguous": lambda: heads.contiguous(), "masked fill": lambda: y.masked_fill_(mask, 0.0), "half f32 silu": lambda: torch.nn.functional.silu(wide[:, :w]),
            "half f32 mul": lambda: wide[:, :w] * wide[:, w:], "gelu f32": lambda: torch.nn.functional.gelu(x), "gelu bf16": lambda: torch.nn.functional.gelu(h), "silu bf16": lambda: torch.nn.functional.silu(h),
            "silu backward bf16": lambda: torch.ops.aten.silu_backward(h, k), "gelu backward bf16": lambda: torch.ops.aten.gelu_backward(h, k), "pow f32": lambda: x.pow(2), "tanh f32": lambda: torch.tanh(x),
            "mean f32": lambda: x.mean(-1, keepdim=True), "sum rows bf16": lambda: h.sum(0), "sum rows f32": lambda: x.sum(0), "softmax bf16": lambda: torch.softmax(h, -1), "cat bf16": lambda: torch.cat((h, k), -1),
            "cat half bf16": lambda: torch.cat((-h[:, w // 2:], h[:, :w // 2]), -1), "add_ f32": lambda: x.add_(y), "fill f32": lambda: x.zero_(),
        }
        for name, call in table.items():
            rows.append({"op": name, "elements": n, "kernels": kernels(call, 5, flush)})
        for dtype, source in (("f32", grow), ("bf16", grow.detach().bfloat16().requires_grad_(True))):
            weight, bias = (torch.ones(w, device=DEVICE, dtype=source.dtype, requires_grad=True) for _ in range(2))
            out = torch.nn.functional.layer_norm(source, (w,), weight, bias)
            seed = torch.randn_like(out)
            rows.append({"op": "layer norm " + dtype, "elements": n, "kernels": kernels(lambda: torch.nn.functional.layer_norm(source, (w,), weight, bias), 5, flush)})
            rows.append({"op": "layer norm backward " + dtype, "elements": n, "kernels": kernels(lambda: torch.autograd.grad(out, (source, weight, bias), seed, retain_graph=True), 5, flush)})
        del table, grow, wide
    return rows


def losses():
    flush = torch.zeros(256 << 20, dtype=torch.uint8, device=DEVICE)
    rows = []
    for tokens, vocabulary in ((1024, 20000), (4096, 20000), (4096, 60000), (8192, 90000)):
        x = torch.randn(tokens, vocabulary, device=DEVICE)
        y = torch.log_softmax(x, -1)
        rows.append({"op": "log softmax", "tokens": tokens, "vocabulary": vocabulary, "kernels": kernels(lambda: torch.log_softmax(x, -1), 4, flush)})
        rows.append({"op": "log softmax backward", "tokens": tokens, "vocabulary": vocabulary, "kernels": kernels(lambda: torch.ops.aten._log_softmax_backward_data(x, y, -1, torch.float32), 4, flush)})
    return rows


def optimizers():
    """Fused and single-tensor AdamW over lists of tensors: how a launch's time depends on what the list spans."""
    rows = []
    for count, elements in ((64, 1 << 20), (64, 1 << 22), (16, 1 << 25), (64, 1 << 24), (128, 1 << 24), (8, 1 << 28)):
        for dtype in (torch.float32, torch.bfloat16):
            parameters = [torch.nn.Parameter(torch.zeros(elements, device=DEVICE, dtype=dtype)) for _ in range(count)]
            for p in parameters:
                p.grad = torch.randn(elements, device=DEVICE, dtype=dtype) if elements < 1 << 28 else torch.zeros(elements, device=DEVICE, dtype=dtype)
            optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=True)
            found = [k for k in kernels(optimizer.step, 3)]
            rows.append({"kind": "fused", "dtype": str(dtype), "tensors": count, "elements_each": elements, "launches": len(found), "us": sum(k["us"] for k in found), "largest_us": max(k["us"] for k in found)})
            if elements in (1 << 22, 1 << 25):
                single = torch.optim.AdamW(parameters[:4], lr=1e-4, foreach=False, fused=False)
                rows.append({"kind": "loop", "dtype": str(dtype), "tensors": 4, "elements_each": elements, "kernels": kernels(single.step, 3)})
            del parameters, optimizer
            torch.cuda.empty_cache()
    return rows


def shard_copies():
    """The kernels that FSDP2 puts around its collectives, over units of tensors of about the stated elements."""
    rows = []
    for unit in (1 << 22, 1 << 25, 1 << 27):
        shapes = [(unit // 4 // 2048, 2048), (unit // 4 // 2048, 2048), (unit // 2 // 2048, 2048), (2048,)]
        grads = [torch.randn(s, device=DEVICE).bfloat16() for s in shapes]
        padded = [(s[0] + 1) // 2 * 2 * (s[1] if len(s) > 1 else 1) for s in shapes]
        out = torch.empty(2, sum(padded) // 2, device=DEVICE)
        rows.append({"op": "chunk_cat bf16 to f32", "elements": unit, "kernels": kernels(lambda: torch._chunk_cat(grads, dim=0, num_chunks=2, out=out), 5)})
        gathered = torch.randn(2, sum(padded) // 2, device=DEVICE).bfloat16()
        parts = [torch.empty(2, p // 2, device=DEVICE, dtype=torch.bfloat16) for p in padded]
        rows.append({"op": "split_with_sizes_copy bf16", "elements": unit, "kernels": kernels(lambda: torch.split_with_sizes_copy(gathered, [p // 2 for p in padded], dim=1, out=parts), 5)})
        flat, shards = [torch.randn(p // 2, device=DEVICE) for p in padded], [torch.empty(p // 2, device=DEVICE, dtype=torch.bfloat16) for p in padded]
        rows.append({"op": "foreach_copy f32 to bf16", "elements": unit // 2, "kernels": kernels(lambda: torch._foreach_copy_(shards, flat), 5)})
    return rows


# ---- the power limit -----------------------------------------------------------------------------------------------------------

class Meter:
    def __init__(self, index=0):
        import pynvml
        pynvml.nvmlInit()
        self.nvml, self.handle = pynvml, pynvml.nvmlDeviceGetHandleByIndex(index)

    def joules(self):
        return self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3

    def limit(self):
        return self.nvml.nvmlDeviceGetEnforcedPowerLimit(self.handle) / 1e3

    def clock(self):
        return self.nvml.nvmlDeviceGetClockInfo(self.handle, self.nvml.NVML_CLOCK_SM)


def work():
    """Kernels to mix: (call, flops, bytes)."""
    a, b, c = (torch.randn(8192, 4096, device=DEVICE).bfloat16(), torch.randn(4096, 4096, device=DEVICE).bfloat16(), torch.randn(2048, 2048, device=DEVICE).bfloat16())
    d = torch.randn(2048, 2048, device=DEVICE).bfloat16()
    x, y = torch.randn(1 << 26, device=DEVICE), torch.randn(1 << 26, device=DEVICE)
    q = torch.randn(2, 16, 4096, 128, device=DEVICE).bfloat16()
    z = torch.empty_like(x)
    big = {"product": (lambda: a @ b, 2.0 * 8192 * 4096 * 4096, 2.0 * (2 * 8192 * 4096 + 4096 * 4096)), "small product": (lambda: c @ d, 2.0 * 2048**3, 2.0 * 3 * 2048 * 2048),
           "stream": (lambda: torch.add(x, y, out=z), 0.0, 12.0 * x.numel()),
           "attention": (lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True), 2.0 * 2 * 16 * 4096 * 4096 * 128, 2.0 * 4 * q.numel())}
    return big


def measure(calls, seconds, pause_us, meter):
    """Runs a CUDA graph of `calls`, about 2 ms of it a replay, with pauses; mean watts, clock, and each call's mean kernel time at the end."""
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        for call in calls:
            call()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side):
            for call in calls:
                call()
    replays, began, clocks = 0, None, []
    end = time.perf_counter() + seconds + 0.25
    warm = time.perf_counter() + 0.25
    while time.perf_counter() < end:
        for _ in range(4):
            graph.replay()
            if pause_us:
                torch.cuda._sleep(int(pause_us * 1900))
        torch.cuda.synchronize()
        if began is None and time.perf_counter() > warm:
            began, joules, replays = time.perf_counter(), meter.joules(), 0
        replays += 4
        if began is not None and len(clocks) < 50:
            clocks.append(meter.clock())
    watts = (meter.joules() - joules) / (time.perf_counter() - began)
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        for _ in range(8):
            graph.replay()
            if pause_us:
                torch.cuda._sleep(int(pause_us * 1900))
        torch.cuda.synchronize()
    times = {}
    for e in prof.events():
        if e.device_type == torch.autograd.DeviceType.CUDA and "spin" not in e.name:
            times.setdefault(e.name[:70], []).append(e.time_range.elapsed_us())
    return {"watts": watts, "clock_mhz": statistics.median(clocks) if clocks else 0, "kernels": {k: {"us": statistics.median(v), "count": len(v) / 8} for k, v in times.items()}}


def power(seconds=0.5):
    meter = Meter(torch.cuda.current_device())
    table, rows = work(), []
    a, b, mixes = "product", "stream", []
    mixes += [({"product": 6}, 0), ({"product": 4}, 12000), ({"product": 4}, 4000), ({"small product": 60}, 0), ({"small product": 40}, 8000), ({"stream": 12}, 0), ({"stream": 8}, 8000), ({"attention": 6}, 0), ({"attention": 4}, 8000)]
    mixes += [({"product": 6, "stream": 2}, 0), ({"product": 5, "stream": 5}, 0), ({"product": 3, "stream": 9}, 0), ({"product": 4, "attention": 3}, 0), ({"product": 3, "attention": 3, "stream": 3}, 0), ({"attention": 3, "stream": 6}, 0)]
    for mix, pause in mixes:
        calls, left = [], dict(mix)
        while sum(left.values()):  # interleaved
            for name in left:
                if left[name]:
                    calls.append(table[name][0])
                    left[name] -= 1
        result = measure(calls, seconds, pause, meter)
        result.update({"mix": mix, "pause_us": pause, "flops": sum(table[n][1] * c for n, c in mix.items()), "bytes": sum(table[n][2] * c for n, c in mix.items())})
        rows.append(result)
    time.sleep(0.5)
    joules, began = meter.joules(), time.perf_counter()
    time.sleep(0.5)
    return {"limit_w": meter.limit(), "idle_w": (meter.joules() - joules) / (time.perf_counter() - began), "rows": rows}


# ---- attention, 8-bit products, reductions over images --------------------------------------------------------------------------

def attention_backends():
    """Fused attention by PyTorch's two libraries, forward and backward: flash (FlashAttention 2) and cuDNN. `heads` counts batch too."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    rows = []
    for head_dim in (64, 128):
        for heads, length in ((96, 512), (96, 1024), (64, 2048), (32, 4096), (16, 8192), (8, 16384), (4, 32768)):
            for causal in (True, False):
                q, k, v = (torch.randn(1, heads, length, head_dim, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
                for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):
                    with sdpa_kernel(backend):
                        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
                        seed = torch.randn_like(out)
                        forward = kernels(lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal), 3)
                        backward = kernels(lambda: torch.autograd.grad(out, (q, k, v), seed, retain_graph=True), 3)
                    rows.append({"head_dim": head_dim, "heads": heads, "length": length, "causal": causal, "library": name,
                                 "forward_us": sum(e["us"] for e in forward), "backward_us": sum(e["us"] for e in backward), "kernels": [e["name"][:60] for e in forward + backward]})
    return rows


PRODUCTS = [(2048, 1536, 1536), (2048, 6144, 1536), (3072, 3072, 3072), (4096, 1792, 7168), (4096, 5120, 5120), (4096, 7168, 1792), (6144, 3584, 14336), (6144, 14336, 3584), (8192, 3072, 9216), (8192, 5120, 13824),
            (8192, 9216, 3072), (8192, 10240, 2560), (8192, 13824, 5120), (12288, 4608, 4608), (16384, 2304, 9216), (16384, 6656, 6656), (16384, 9216, 2304), (24576, 5120, 5120)]


def float8_products():
    """Products with operands of 8 bits: one scale a tensor or one a row and column, with and without fast accumulation, beside bfloat16."""
    rows = []
    for m, n, k in PRODUCTS:
        x, w = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16), torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16)
        x8, w8 = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
        one, by_row, by_column = torch.ones((), device=DEVICE), torch.ones(m, 1, device=DEVICE), torch.ones(1, n, device=DEVICE)
        row = {"m": m, "n": n, "k": k, "bf16_us": sum(e["us"] for e in kernels(lambda: x @ w.t(), 5))}
        for name, a, b in (("tensor", one, one), ("row", by_row, by_column)):
            for fast in (True, False):
                found = kernels(lambda: torch._scaled_mm(x8, w8.t(), scale_a=a, scale_b=b, out_dtype=torch.bfloat16, use_fast_accum=fast), 5)
                row[f"{name}{'_fast' if fast else ''}_us"] = sum(e["us"] for e in found)
                row[f"{name}{'_fast' if fast else ''}_kernel"] = found[-1]["name"][:60]
        rows.append(row)
    return rows


def float8_casts():
    """Compiled casts as dynamic scaling makes them: the largest value, the cast, the cast transposed."""
    def tensor(x):
        scale = 448.0 / x.abs().max().float().clamp(min=1e-12)
        cast = (x.float() * scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
        return cast, scale

    def both(x):
        cast, scale = tensor(x)
        return cast, cast.t().contiguous(), scale

    def row(x):
        scale = 448.0 / x.abs().amax(-1, keepdim=True).float().clamp(min=1e-12)
        return (x.float() * scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn), scale

    def column(x):
        scale = 448.0 / x.abs().amax(0, keepdim=True).float().clamp(min=1e-12)
        return (x.float() * scale).clamp(-448.0, 448.0).to(torch.float8_e4m3fn).t().contiguous(), scale

    flush = torch.zeros(256 << 20, dtype=torch.uint8, device=DEVICE)
    rows = []
    for name, function in (("tensor", tensor), ("tensor both layouts", both), ("row", row), ("column", column)):
        compiled = torch.compile(function, dynamic=False)
        for m, n in ((2048, 2048), (8192, 4096), (8192, 14336)):
            x = torch.randn(m, n, device=DEVICE, dtype=torch.bfloat16)
            rows.append({"cast": name, "rows": m, "columns": n, "kernels": kernels(lambda: compiled(x), 5, flush)})
    return rows


def images():
    """Compiled batch norm with its activation, and max pooling, forward and backward, in channels-last bfloat16."""
    def norm(x, weight, bias, mean, variance):
        return torch.relu(torch.nn.functional.batch_norm(x, mean, variance, weight, bias, training=True))

    def pool(x):
        return torch.nn.functional.max_pool2d(x, 3, 2, 1)

    rows = []
    for batch, channels, side in ((96, 48, 96), (96, 192, 48), (96, 96, 48), (96, 768, 24), (96, 384, 12), (96, 1536, 12), (96, 1536, 6)):
        x = torch.randn(batch, channels, side, side, device=DEVICE, dtype=torch.bfloat16).to(memory_format=torch.channels_last).requires_grad_(True)
        weight, bias = (torch.ones(channels, device=DEVICE, requires_grad=True) for _ in range(2))
        mean, variance = torch.zeros(channels, device=DEVICE), torch.ones(channels, device=DEVICE)
        for name, function, arguments, grads in (("batch norm", norm, (x, weight, bias, mean, variance), (x, weight, bias)), ("max pool", pool, (x,), (x,))):
            if name == "max pool" and channels > 200:
                continue
            compiled = torch.compile(function, dynamic=False)
            out = compiled(*arguments)
            seed = torch.randn_like(out)
            rows.append({"op": name, "batch": batch, "channels": channels, "side": side, "forward": kernels(lambda: compiled(*arguments), 4),
                         "backward": kernels(lambda: torch.autograd.grad(out, grads, seed, retain_graph=True), 4)})
    return rows


def power_types(seconds=0.5):
    """What an operation draws by its type: products of 8 bits, float16, TF32, and attention of both libraries."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    meter, rows = Meter(torch.cuda.current_device()), []
    a, b = torch.randn(8192, 4096, device=DEVICE), torch.randn(4096, 4096, device=DEVICE)
    one = torch.ones((), device=DEVICE)
    q = torch.randn(2, 16, 4096, 128, device=DEVICE, dtype=torch.bfloat16)
    x, y = torch.randn(1 << 26, device=DEVICE), torch.randn(1 << 26, device=DEVICE)
    z = torch.empty_like(x)
    flops = 2.0 * 8192 * 4096 * 4096

    def attend(backend):
        def call():
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
        return call

    def product(dtype):
        left, right = a.to(dtype), b.to(dtype)
        if dtype == torch.float8_e4m3fn:
            right = right.t().contiguous().t()
            return lambda: torch._scaled_mm(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
        return lambda: left @ right

    loads = {"bf16": (product(torch.bfloat16), flops), "fp16": (product(torch.float16), flops), "tf32": (product(torch.float32), flops), "fp8": (product(torch.float8_e4m3fn), flops),
             "flash": (attend(SDPBackend.FLASH_ATTENTION), 2.0 * 2 * 16 * 4096 * 4096 * 128), "cudnn": (attend(SDPBackend.CUDNN_ATTENTION), 2.0 * 2 * 16 * 4096 * 4096 * 128)}
    stream = lambda: torch.add(x, y, out=z)
    for name, (call, each) in loads.items():
        count = 4 if name == "tf32" else 12 if name == "fp8" else 7
        for streams, pause in ((0, 0), (0, 4000), (0, 12000), (3, 0)):
            result = measure([call] * count + [stream] * streams, seconds, pause, meter)
            result.update({"load": name, "count": count, "streams": streams, "pause_us": pause, "flops": each * count, "bytes": 12.0 * x.numel() * streams})
            rows.append(result)
    return {"limit_w": meter.limit(), "rows": rows}

# ---- beside NCCL, kept up ---------------------------------------------------------------------------------------------------------

def beside(seconds=0.4):
    import torch.distributed as dist
    table = work()
    shard, whole = torch.randn(1 << 26, device=DEVICE).bfloat16(), torch.empty(1 << 27, device=DEVICE, dtype=torch.bfloat16)
    grads, part = torch.randn(1 << 26, device=DEVICE), torch.empty(1 << 25, device=DEVICE)
    collectives = {"none": None, "all_gather": lambda: dist.all_gather_into_tensor(whole, shard, async_op=True), "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, grads, async_op=True)}
    loads = {"none": [], "product": ["product"], "stream": ["stream"], "attention": ["attention"], "mix": ["product", "product", "stream", "attention"]}
    rows = []
    for load, names in loads.items():
        for name, collective in collectives.items():
            if load == "none" and collective is None:
                continue
            for pace in ("rested", "kept up"):
                def burst():
                    handles = []
                    for _ in range(3):
                        if collective is not None:
                            handles.append(collective())
                        for n in names * (9 // max(1, len(names))):
                            table[n][0]()
                    for h in handles:
                        h.wait()
                dist.barrier()
                torch.cuda.synchronize()
                for _ in range(3 if pace == "rested" else max(3, int(seconds / 0.012))):
                    burst()
                torch.cuda.synchronize()
                with profile(activities=[ProfilerActivity.CUDA]) as prof:
                    for _ in range(4):
                        if pace == "rested":
                            torch.cuda.synchronize()
                            time.sleep(0.03)
                            dist.barrier()
                            torch.cuda.synchronize()
                        burst()
                    torch.cuda.synchronize()
                spans = [(e.time_range.start, e.time_range.end, e.name) for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA and not getattr(e, "is_user_annotation", False)]
                nccl = [s for s in spans if s[2].startswith("nccl") and ("AllGather" in s[2] or "ReduceScatter" in s[2])]
                others = [s for s in spans if not s[2].startswith("nccl") and s[1] - s[0] > 50]
                covered = [s for s in others if any(a <= s[0] and s[1] <= b for a, b, _ in nccl)] if nccl else others
                by_name = {}
                for s in covered:
                    by_name.setdefault(s[2][:60], []).append(s[1] - s[0])
                rows.append({"load": load, "collective": name, "pace": pace, "nccl_us": statistics.median([b - a for a, b, _ in nccl]) if nccl else None,
                             "kernels": {k: {"us": statistics.median(v), "count": len(v)} for k, v in by_name.items()}})
    return rows


def main():
    parser = argparse.ArgumentParser(description="Measure the device time of PyTorch's own kernels, alone and at the power limit")
    parser.add_argument("--out", default="pytorch_kernels.json")
    parser.add_argument("--two", action="store_true", help="two processes under torchrun: kernels beside NCCL")
    parser.add_argument("--only", action="append")
    flags = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    sections = {"elementwise": elementwise, "losses": losses, "optimizers": optimizers, "shard_copies": shard_copies, "attention_backends": attention_backends, "float8_products": float8_products,
                "float8_casts": float8_casts, "images": images, "power": power, "power_types": power_types}
    if flags.two:
        import torch.distributed as dist
        dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
        sections = {"beside": beside}
    report = {"format": "sgsim-pytorch-kernels", "version": 1, "machine": torch.cuda.get_device_name(), "date": time.strftime("%Y-%m-%d"),
              "software": f"PyTorch {torch.__version__}, Python {platform.python_version()}, CUDA {torch.version.cuda}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}", "sections": {}, "missing": {}}
    for name, section in sections.items():
        if flags.only and name not in flags.only:
            continue
        begin = time.perf_counter()
        try:
            report["sections"][name] = section()
        except Exception as error:  # one section's failure must not lose the others
            report["missing"][name] = f"{type(error).__name__}: {error}"[:400]
        if rank == 0:
            print(f"{name}: {time.perf_counter() - begin:.1f} s {report['missing'].get(name, '')}", flush=True)
            with open(flags.out, "w") as f:
                json.dump(report, f, indent=1, sort_keys=True)
                f.write("\n")
    if flags.two:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
