"""Times of attention under context parallelism (torch.distributed.tensor.experimental.context_parallel).

One GPU: the blocks of which a ring step consists, each alone: the causal block of a rank's own tokens, and what a load-balanced later step
runs (all queries against half of the keys, half of the queries against all keys), FlashAttention 2, forward and backward.
Two GPUs and more: a whole call over all ranks, eager and compiled, with the time that NCCL kernels take inside it.

  python3 calibrate/pytorch_context_parallel.py OUT.json
  torchrun --nproc-per-node 2 calibrate/pytorch_context_parallel.py OUT.json

Times are medians in microseconds. [batch 1, heads, tokens, 128], bfloat16.
"""

import json
import os
import statistics
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = [(32, 8192), (32, 32768), (16, 32768)]  # heads, tokens of a rank
REPEATS = 5
HEAD = 128


def median_us(run, repeats=REPEATS):
    run()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def tensors(heads, tokens, count, grad=True):
    return [torch.randn(1, heads, tokens, HEAD, device="cuda", dtype=torch.bfloat16, requires_grad=grad) for _ in range(count)]


def block_times(heads, queries, keys, causal):
    q, = tensors(heads, queries, 1)
    k, v = tensors(heads, keys, 2)
    forward = lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        with torch.no_grad():
            forward_us = median_us(forward)
        out = forward()
        gradient = torch.randn_like(out)
        backward_us = median_us(lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True))
    pairs = queries * keys / (2 if causal else 1)
    flops = 4 * heads * HEAD * pairs
    return {"heads": heads, "queries": queries, "keys": keys, "causal": causal, "forward_us": forward_us, "backward_us": backward_us,
            "forward_tflops": flops / forward_us / 1e6, "backward_tflops": 2.5 * flops / backward_us / 1e6}


def nccl_us(run):
    """Time of NCCL kernels and of all kernels in one run."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    kernels = {}
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            row = kernels.setdefault(event.name[:60], [0, 0.0])
            row[0] += 1
            row[1] += event.device_time if hasattr(event, "device_time") else event.cuda_time
    return kernels


def ring_times(mesh, heads, tokens, compiled):
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import set_rotate_method

    world = mesh.size()
    q, k, v = tensors(heads, tokens * world, 3, grad=False)
    results = {}

    def attention(a, b, c):
        return F.scaled_dot_product_attention(a, b, c, is_causal=True)

    call = torch.compile(attention) if compiled else attention
    set_rotate_method("allgather")
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]), context_parallel(mesh, buffers=[q, k, v], buffer_seq_dims=[2, 2, 2]):
        a, b, c = (x.detach().clone().requires_grad_() for x in (q, k, v))
        results["forward_us"] = median_us(lambda: call(a, b, c))
        gradient = torch.randn_like(a)

        def both():
            torch.autograd.grad(call(a, b, c), (a, b, c), gradient)

        results["both_us"] = median_us(both)
        results["kernels"] = nccl_us(both)
    return {"heads": heads, "tokens": tokens, "world": world, "compiled": compiled, **results}


def main(path):
    report = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "blocks": [], "rings": []}
    if "RANK" not in os.environ:
        for heads, tokens in SHAPES:
            for queries, keys, causal in ((tokens, tokens, True), (tokens, tokens, False), (tokens, tokens // 2, False), (tokens // 2, tokens, False)):
                report["blocks"].append(block_times(heads, queries, keys, causal))
    else:
        dist.init_process_group("nccl")
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        mesh = dist.init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("cp",))["cp"]
        for heads, tokens in SHAPES:
            for compiled in (False, True):
                try:
                    report["rings"].append(ring_times(mesh, heads, tokens, compiled))
                except Exception as error:  # one way of calling it may not work in a version: the others still count
                    report["rings"].append({"heads": heads, "tokens": tokens, "compiled": compiled, "failed": repr(error)[:500]})
    if int(os.environ.get("RANK", 0)) == 0:
        with open(path, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
