#!/usr/bin/env python3
"""What PyTorch's parallel wrappers cost the host, on two GPUs: DTensor, FSDP2, DDP, torch.distributed.pipelining, and large compiled graphs.

    torchrun --nproc-per-node 2 calibrate/pytorch_parallel_overhead.py --out pytorch_parallel.json

Micro-graphs as in pytorch_overhead.py, whose timing this uses: kernels of a few microseconds, so that the host sets the pace. Each section times
the same micro-graph with and without the wrapper; what is left over is divided by what the wrapper wraps (linear layers, units, tensors,
actions). Counts stand beside the times.
"""
import argparse
import json
import os
import platform
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch_overhead as single
import torch
import torch.distributed as dist

if os.environ.get("SGSIM_TEST_ON_CPU"):
    single.DEVICE = "cpu"
    torch.cuda.synchronize = lambda *a: None
WIDTH, ROWS = single.WIDTH, single.ROWS
COUNT = 25  # repetitions: the same on every rank, since collectives pair up


def host_us(call, before=None):
    """Median host microseconds of `call` on an idle device; every rank makes the same number of calls."""
    samples = []
    for _ in range(COUNT):
        if before is not None:
            before()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        samples.append((time.perf_counter() - begin) * 1e6)
    torch.cuda.synchronize()
    return statistics.median(samples[5:])


class Feed(torch.nn.Module):
    """A residual block of `ups` linear layers from one input and one linear layer back."""

    def __init__(self, ups):
        super().__init__()
        self.up = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(ups))
        self.down = torch.nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x):
        y = self.up[0](x)
        for up in self.up[1:]:
            y = y * up(x)
        return x + self.down(y)


def passes(model, scale=1.0):
    x = torch.randn(1, ROWS, WIDTH, device=single.DEVICE, requires_grad=True)
    state = {}

    def forward():
        state["loss"] = model(x).float().sum()

    def backward():
        state["loss"].backward()

    def clear():
        for p in model.parameters():
            p.grad = None
        x.grad = None

    return forward, backward, clear


def times(model):
    forward, backward, clear = passes(model)
    for _ in range(3):
        forward(), backward(), clear()
    return {"forward_us": host_us(forward, before=clear), "backward_us": host_us(backward, before=lambda: (clear(), forward()))}


def feeds(ups, depth):
    return torch.nn.Sequential(*(Feed(ups) for _ in range(depth))).to(single.DEVICE)


def dtensor(mesh):
    """Forward and backward a linear layer, and an optimizer step a tensor, under ColwiseParallel and RowwiseParallel."""
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    rows, optimizer_rows = [], []
    for ups in (1, 3):
        for depth in (2, 6):
            plain, parallel = feeds(ups, depth), feeds(ups, depth)
            for block in parallel:
                parallelize_module(block, mesh, {"up.*": ColwiseParallel(), "down": RowwiseParallel()})
            a, b = times(plain), times(parallel)
            rows.append({"ups": ups, "depth": depth, "colwise": ups * depth, "rowwise": depth, "plain": a, "parallel": b})
            for name, model in (("plain", plain), ("dtensor", parallel)):
                forward, backward, clear = passes(model)
                forward(), backward()
                for kind, flags in (("loop", {"foreach": False, "fused": False}), ("foreach", {"foreach": True}), ("fused", {"fused": True})):
                    try:
                        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **flags)
                        optimizer.step()
                        optimizer_rows.append({"tensors": (ups + 1) * depth, "parameters": name, "kind": kind, "step_us": host_us(optimizer.step)})
                    except Exception as error:  # not every kind takes DTensors
                        optimizer_rows.append({"tensors": (ups + 1) * depth, "parameters": name, "kind": kind, "failed": str(error)[:120]})
    return {"passes": rows, "optimizers": optimizer_rows}


def collectives():
    small, out = torch.zeros(1024, device=single.DEVICE), torch.zeros(2048, device=single.DEVICE)
    return {"all_reduce_us": host_us(lambda: dist.all_reduce(small)), "all_reduce_async_us": host_us(lambda: dist.all_reduce(small, async_op=True)), "all_gather_async_us": host_us(lambda: dist.all_gather_into_tensor(out, small, async_op=True)),
            "send_receive_us": host_us(lambda: [w.wait() for w in dist.batch_isend_irecv([dist.P2POp(dist.isend, small, 1 - dist.get_rank()), dist.P2POp(dist.irecv, out[:1024], 1 - dist.get_rank())])])}


def wrapped(wrap, compiled=False):
    rows = []
    for depth in (4, 16):
        model = single.stack(single.Mixer, depth)
        plain = times(model)
        rows.append({"layers": depth, "tensors_a_layer": 6, "plain": plain, "wrapped": times(wrap(single.stack(single.Mixer, depth)))})
    return rows


def fsdp2():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)

    def shard(model):
        for layer in model:
            fully_shard(layer, mp_policy=policy)
        return fully_shard(model, mp_policy=policy)
    return wrapped(shard)


def ddp():
    return wrapped(lambda model: torch.nn.parallel.DistributedDataParallel(model, device_ids=None if single.DEVICE == "cpu" else [dist.get_rank()], bucket_cap_mb=0.12, gradient_as_bucket_view=True))


def pipeline():
    """Host time of a schedule's step over that of the same passes alone, a micro-batch."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    rank, device = dist.get_rank(), torch.device(single.DEVICE, dist.get_rank() if single.DEVICE != "cpu" else 0)
    rows = []
    for schedule, kind in (("gpipe", ScheduleGPipe), ("1f1b", Schedule1F1B)):
        for micro_batches in (4, 12):
            model = single.stack(single.Products, 4)
            x = torch.randn(micro_batches * ROWS, WIDTH, device=single.DEVICE)
            example = torch.randn(ROWS, WIDTH, device=single.DEVICE)
            stage = PipelineStage(model, rank, 2, device, input_args=(example,), output_args=(example,))
            pipe = kind(stage, n_microbatches=micro_batches, loss_fn=lambda y, t: y.float().sum())

            def step():
                if rank == 0:
                    pipe.step(x)
                else:
                    pipe.step(target=x, losses=[])

            def alone():
                for part in x.chunk(micro_batches):
                    part = part.detach().requires_grad_(True)
                    model(part).float().sum().backward()

            for _ in range(4):
                step()
            stepped = host_us(step)
            torch.cuda.synchronize()
            rows.append({"schedule": schedule, "micro_batches": micro_batches, "step_us": stepped, "alone_us": host_us(alone)})
    return rows


def compiled():
    """A compiled stack of many parameters and kernels, whole and by parts: what a step costs beside its launches."""
    rows = []
    for block, depth in ((single.Mixer, 4), (single.Mixer, 16), (single.Split, 12), (single.Products, 36), (single.Scales, 12)):
        torch._dynamo.reset()
        model = torch.compile(single.stack(block, depth))
        forward, backward, clear = single.passes(model)
        for _ in range(3):
            forward(), backward(), clear()
        row = {"block": block.__name__, "depth": depth, "parameters": sum(1 for _ in model.parameters())}
        row["forward_us"] = host_us(forward, before=clear)
        row["backward_us"] = host_us(backward, before=lambda: (clear(), forward()))
        with torch.no_grad():
            row["inference_us"] = host_us(forward)
        if single.DEVICE != "cpu":
            row.update(single.count_kernels(model))
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description="Measure the host cost of PyTorch's parallel wrappers on two GPUs")
    parser.add_argument("--out", default="pytorch_parallel.json")
    parser.add_argument("--only", action="append")
    flags = parser.parse_args()
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.set_float32_matmul_precision("high")
    cpu = single.DEVICE == "cpu"
    if not cpu:
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo" if cpu else "nccl", device_id=None if cpu else torch.device("cuda", rank))
    mesh = dist.init_device_mesh(single.DEVICE, (2,))
    report = {"format": "sgsim-pytorch-parallel", "version": 1, "machine": f"2 x {'CPU' if cpu else torch.cuda.get_device_name(rank)}, {single.cpu_name()}", "date": time.strftime("%Y-%m-%d"),
              "software": f"PyTorch {torch.__version__}, Python {platform.python_version()}", "sections": {}, "missing": {}}
    sections = {"collectives": collectives, "dtensor": lambda: dtensor(mesh), "fsdp2": fsdp2, "ddp": ddp, "pipeline": pipeline, "compiled": compiled}
    if cpu:
        del sections["compiled"]
    for name, section in sections.items():
        if flags.only and name not in flags.only:
            continue
        begin = time.perf_counter()
        try:
            report["sections"][name] = section()
        except Exception as error:  # one section's failure must not lose the others
            import traceback
            traceback.print_exc()
            report["missing"][name] = f"{type(error).__name__}: {error}"[:400]
        if rank == 0:
            print(f"{name}: {time.perf_counter() - begin:.1f} s {report['missing'].get(name, '')}", flush=True)
            with open(flags.out, "w") as f:
                json.dump(report, f, indent=1, sort_keys=True)
                f.write("\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
