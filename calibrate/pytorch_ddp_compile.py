#!/usr/bin/env python3
"""What torch.compile makes of DistributedDataParallel: steps with the graph cut at gradient buckets (the default), with other bucket sizes, and uncut.

    torchrun --nproc-per-node 2 calibrate/pytorch_ddp_compile.py --out FOLDER

Writes steps.json (median of 20 steps between CUDA events) and a Kineto trace of
two steps of rank 0 for each variant, NAME.trace.json.gz. --host (one process is enough): models so narrow that the device idles, forward and
backward, without an optimizer: slopes over layers are host times (host.json). Models and batches are those of pytorch_steps.py.
"""
import argparse
import gc
import json
import os

import torch
import torch.distributed as dist
from torch import nn

from pytorch_steps import DEVICE, LOCAL, RANK, WORLD, adamw, gpt2, llama, on_device, time_steps, tokens_of, trainer


def variant(make, facts, batch, bucket_mb, cut):
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = cut
    model = on_device(make)
    wrapped = nn.parallel.DistributedDataParallel(model, device_ids=[LOCAL], gradient_as_bucket_view=True, bucket_cap_mb=bucket_mb)
    return trainer(torch.compile(wrapped), tokens_of(facts, batch), adamw(model), True)


def host_step(make, facts, how, bucket_mb):
    """Median seconds of a forward and backward pass. how: eager, compiled (no DistributedDataParallel), ddp_eager, whole, cut."""
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = how == "cut"
    model = on_device(make)
    run = model if how in ("eager", "compiled") else nn.parallel.DistributedDataParallel(model, device_ids=[LOCAL], gradient_as_bucket_view=True, bucket_cap_mb=bucket_mb)
    run = torch.compile(run) if how in ("compiled", "whole", "cut") else run
    tokens = tokens_of(facts, 1)

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            loss = run(input_ids=tokens, labels=tokens).loss
        loss.backward()
        if how in ("eager", "compiled"):
            model.zero_grad(set_to_none=True)
    return time_steps(step, warm=10, steps=50)["step_time_s"]


def host_costs(out):
    """GPT-2 and Llama so narrow that the device idles. Of GPT-2's width 256 buckets of 1 MiB hold a third of a layer, as those of 25 MiB do of width 1280."""
    results = []
    for name, model in (("gpt2", lambda layers: gpt2(layers, 256, 4, 512, 16)), ("llama", lambda layers: llama(layers, 256, 4, 4, 1024, 512, 16))):
        for how, bucket_mb in (("cut", 1), ("cut", 10), ("whole", 1), ("compiled", 1), ("ddp_eager", 1), ("eager", 1)):
            for layers in (8, 24):
                make, facts = model(layers)
                results.append({"model": name, "layers": layers, "how": how, "bucket_mb": bucket_mb, "step_time_s": host_step(make, facts, how, bucket_mb)})
                if RANK == 0:
                    print(results[-1], flush=True)
                    with open(os.path.join(out, "host.json"), "w") as f:
                        json.dump({"gpu": torch.cuda.get_device_name(), "gpus": WORLD, "torch": torch.__version__, "results": results}, f, indent=1)


def main():
    parser = argparse.ArgumentParser(description="Compiled DistributedDataParallel, cut and uncut")
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", action="append")
    parser.add_argument("--host", action="store_true", help="instead: what a piece costs the host, host.json")
    flags = parser.parse_args()
    os.makedirs(flags.out, exist_ok=True)
    torch.cuda.set_device(DEVICE)
    torch.set_float32_matmul_precision("high")
    dist.init_process_group("nccl", device_id=DEVICE)
    if flags.host:
        host_costs(flags.out)
        dist.destroy_process_group()
        return
    models = {"gpt2_774m": (gpt2(36, 1280, 20, 50304, 1024), 8), "llama_3072": (llama(12, 3072, 24, 8, 8192, 32000, 2048), 4)}
    results = []
    for name, bucket_mb, cut in (("gpt2_774m", 25, True), ("gpt2_774m", 25, False), ("gpt2_774m", 250, True), ("llama_3072", 25, True), ("llama_3072", 25, False)):
        label = f"{name}_bucket{bucket_mb}_{'cut' if cut else 'whole'}"
        if flags.only and not any(o in label for o in flags.only):
            continue
        (make, facts), batch = models[name]
        step = variant(make, facts, batch, bucket_mb, cut)
        measured = time_steps(step)
        results.append({"name": label, **measured})
        file = os.path.join(flags.out, label + ".trace.json.gz")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA], schedule=torch.profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
                                    on_trace_ready=lambda p: p.export_chrome_trace(file) if RANK == 0 else None) as profile:
            for _ in range(3):
                step()
                profile.step()
        if RANK == 0:
            print(results[-1], flush=True)
            with open(os.path.join(flags.out, "steps.json"), "w") as f:
                json.dump({"gpu": torch.cuda.get_device_name(), "gpus": WORLD, "torch": torch.__version__, "results": results}, f, indent=1)
        del step, profile
        gc.collect()
        torch.cuda.empty_cache()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
