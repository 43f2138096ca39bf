#!/usr/bin/env python3
"""Training steps of PyTorch models on the local GPUs as records for `sgsim check`: shapes of no other run, so that predictions are out of sample.

    python3 calibrate/pytorch_steps.py --out one.json                                   # one GPU: eager and compiled
    torchrun --nproc-per-node 8 calibrate/pytorch_steps.py --out eight.json             # DDP, FSDP2, tensor and pipeline parallel over all GPUs
    sgsim check eight.json

Needs PyTorch 2.6 and transformers. Median of 20 steps between CUDA events after 5 steps of warming up, random token ids. Every record is written as soon
as it is there; a case that fails is named and does not stop the others. --only NAME (repeatable) runs cases whose name contains it, --minutes M begins none after M.
"""
import argparse
import gc
import json
import os
import statistics
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")
import torch
import torch.distributed as dist
from torch import nn

RANK, WORLD, LOCAL = (int(os.environ.get(k, d)) for k, d in (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0")))
DEVICE = torch.device("cuda", LOCAL)


def llama(layers, hidden, heads, kv_heads, ffn, vocab, seq):
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, num_key_value_heads=kv_heads, intermediate_size=ffn, vocab_size=vocab,
                         max_position_embeddings=seq, use_cache=False, tie_word_embeddings=False)
    facts = {"family": "llama", "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads, "ffn": ffn, "vocab": vocab, "seq": seq, "tied_embeddings": False,
             "norm": "rmsnorm", "activation": "silu (gated)", "positions": "rope"}
    return (lambda: LlamaForCausalLM(config)), facts


def gpt2(layers, hidden, heads, vocab, seq):
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(n_layer=layers, n_embd=hidden, n_head=heads, vocab_size=vocab, n_positions=seq, use_cache=False, attn_pdrop=0.0, resid_pdrop=0.0, embd_pdrop=0.0)
    facts = {"family": "gpt2", "layers": layers, "hidden": hidden, "heads": heads, "kv_heads": heads, "ffn": 4 * hidden, "vocab": vocab, "seq": seq, "tied_embeddings": True,
             "norm": "layernorm", "activation": "gelu_new", "positions": "learned"}
    return (lambda: GPT2LMHeadModel(config)), facts


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.up, self.down = nn.Linear(hidden, 4 * hidden, bias=False), nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(b, s, 3, self.heads, h // self.heads).permute(2, 0, 3, 1, 4)
        a = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, s, h))
        return x + self.down(nn.functional.gelu(self.up(self.norm_2(x))))


class Stage(nn.Module):
    """Part of a plain transformer: the first has the embedding, the last the head."""
    def __init__(self, layers, hidden, heads, vocab, first, last):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden) if first else None
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(layers))
        self.norm, self.head = (nn.LayerNorm(hidden), nn.Linear(hidden, vocab, bias=False)) if last else (None, None)

    def forward(self, x):
        x = x if self.embed is None else self.embed(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(self.norm(x))


def count(model):
    return sum(p.numel() for p in model.parameters()) / 1e9


def on_device(make, dtype=torch.float32):
    torch.manual_seed(1)
    with torch.device(DEVICE):
        return make().to(dtype)


def time_steps(step, warm=5, steps=20):
    """Median seconds a step between CUDA events, slowest rank; peak bytes allocated and reserved of this rank."""
    for _ in range(warm):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    if WORLD > 1:
        dist.barrier()
    events[0].record()
    for event in events[1:]:
        step()
        event.record()
    torch.cuda.synchronize()
    median = statistics.median(a.elapsed_time(b) for a, b in zip(events, events[1:])) * 1e-3
    if WORLD > 1:
        slowest = torch.tensor([median], device=DEVICE)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        median = slowest.item()
    return {"step_time_s": median, "peak_mem_gib": torch.cuda.max_memory_allocated() / 2**30, "peak_reserved_gib": torch.cuda.max_memory_reserved() / 2**30}


def trainer(model, tokens, optimizer, autocast):
    def step():
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def adamw(model, fused=True):
    return torch.optim.AdamW(model.parameters(), lr=1e-5, fused=fused, foreach=None if fused else False)


def tokens_of(facts, batch):
    return torch.randint(0, facts["vocab"], (batch, facts["seq"]), device=DEVICE)


AUTOCAST = "autocast bf16, fp32 parameters"


def plain(make, facts, batch, compiled):
    model = on_device(make)
    run = torch.compile(model) if compiled else model
    measured = time_steps(trainer(run, tokens_of(facts, batch), adamw(model), True))
    return {"sharding": None, "dp": 1}, AUTOCAST, measured, count(model), "torch.compile (Inductor default)" if compiled else "eager", "AdamW, fused"


def ddp(make, facts, batch, compiled):
    model = on_device(make)
    run = nn.parallel.DistributedDataParallel(model, device_ids=[LOCAL], gradient_as_bucket_view=True)
    run = torch.compile(run) if compiled else run
    measured = time_steps(trainer(run, tokens_of(facts, batch), adamw(model), True))
    return {"sharding": "DDP (25 MiB buckets, gradient_as_bucket_view)", "dp": WORLD}, AUTOCAST + " and gradients", measured, count(model), "torch.compile (Inductor default)" if compiled else "eager", "AdamW, fused"


def fsdp2(make, facts, batch, compiled):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    model = on_device(make)
    size, policy = count(model), MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    layers = model.model.layers if hasattr(model, "model") else model.transformer.h
    for layer in layers:
        if compiled:
            layer.compile()
        fully_shard(layer, mp_policy=policy, reshard_after_forward=True)
    fully_shard(model, mp_policy=policy, reshard_after_forward=True)
    measured = time_steps(trainer(model, tokens_of(facts, batch), adamw(model), False))
    return ({"sharding": "FSDP2 full shard, one unit a layer + root, reshard_after_forward=True", "dp": WORLD}, "parameters gathered in bf16, gradients reduced in fp32, fp32 optimizer", measured, size,
            "torch.compile (Inductor default), each layer apart" if compiled else "eager", "AdamW, fused")


def tensor_parallel(make, facts, batch, compiled):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    torch.manual_seed(1)
    model = on_device(make, torch.bfloat16)
    size, mesh = count(model), init_device_mesh("cuda", (WORLD,))
    plan = {f"self_attn.{n}_proj": ColwiseParallel() for n in "qkv"} | {"self_attn.o_proj": RowwiseParallel(), "mlp.gate_proj": ColwiseParallel(), "mlp.up_proj": ColwiseParallel(), "mlp.down_proj": RowwiseParallel()}
    for layer in model.model.layers:
        parallelize_module(layer, mesh, plan)
    measured = time_steps(trainer(model, tokens_of(facts, batch), adamw(model, fused=False), False))
    return ({"sharding": "DTensor column/row parallel attention and MLP of each layer; embedding and head replicated", "dp": 1, "tp": WORLD}, "pure bf16", measured, size, "eager",
            "AdamW, for-loop (one set of kernels a parameter)")


def pipeline(facts, micro_batches, schedule):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    first, last = RANK == 0, RANK == WORLD - 1
    module = on_device(lambda: Stage(facts["layers"] // WORLD, facts["hidden"], facts["heads"], facts["vocab"], first, last), torch.bfloat16)
    stage = PipelineStage(module, RANK, WORLD, DEVICE)

    def loss(logits, labels):
        return nn.functional.cross_entropy(logits.float().flatten(0, 1), labels.flatten())

    run = (Schedule1F1B if schedule == "1f1b" else ScheduleGPipe)(stage, n_microbatches=micro_batches, loss_fn=loss)
    optimizer, tokens = adamw(module), tokens_of(facts, micro_batches)

    def step():
        run.step(*([tokens] if first else []), **({"target": tokens} if last else {}))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    measured = time_steps(step, warm=3, steps=10)
    return {"sharding": None, "dp": 1, "pp": WORLD, "vpp": 1, "schedule": schedule, "grad_accum": micro_batches}, "pure bf16 parameters, fp32 loss", measured, None, "eager", "AdamW, fused"


def cases():
    small = llama(12, 3072, 24, 8, 8192, 32000, 2048)
    wide = llama(6, 5120, 40, 8, 13824, 32000, 4096)
    gpt = gpt2(36, 1280, 20, 50304, 1024)
    if WORLD == 1:
        for compiled in (False, True):
            tail = "compile" if compiled else "eager"
            yield f"llama_3072_{tail}", small[1], 4, lambda c=compiled: plain(*small, 4, c)
            yield f"llama_5120_{tail}", wide[1], 2, lambda c=compiled: plain(*wide, 2, c)
            yield f"gpt2_774m_{tail}", gpt[1], 8, lambda c=compiled: plain(*gpt, 8, c)
        return
    for compiled in (False, True):
        tail = "compile" if compiled else "eager"
        yield f"llama_3072_fsdp{WORLD}_{tail}", small[1], 4, lambda c=compiled: fsdp2(*small, 4, c)
        yield f"gpt2_774m_ddp{WORLD}_{tail}", gpt[1], 8, lambda c=compiled: ddp(*gpt, 8, c)
    yield f"llama_5120_tp{WORLD}_eager", wide[1], 2, lambda: tensor_parallel(*wide, 2, False)
    facts = {"family": "gpt (LayerNorm, fused qkv, GELU MLP, no biases in linears, embedding without positions, untied head)", "layers": 2 * WORLD if WORLD > 4 else 12, "hidden": 3072, "heads": 24, "kv_heads": 24,
             "ffn": 12288, "vocab": 32000, "seq": 2048}
    for schedule in ("1f1b", "gpipe"):
        yield f"plain_3072_pp{WORLD}_{schedule}", facts, 1, lambda s=schedule: pipeline(facts, 2 * WORLD, s)


def record(name, facts, batch, result):
    parallel, precision, measured, size, execution, optimizer = result
    parallel = {"dp": 1, "tp": 1, "pp": 1, "micro_batch": batch, "grad_accum": 1, "recompute": "none", "sequence_parallel": False} | parallel
    parallel["global_batch"] = batch * parallel["dp"] * parallel["grad_accum"]
    gpu = torch.cuda.get_device_name().replace("NVIDIA ", "")
    gpu = {"H200": "H200-SXM-141GB"}.get(gpu, gpu)
    return {"id": name, "source": f"calibrate/pytorch_steps.py, {time.strftime('%Y-%m-%d')}: median of 20 steps (pipelines 10) between CUDA events, random token ids", "kind": "measured",
            "hardware": {"gpu": gpu, "gpus": WORLD, "gpus_per_node": WORLD, "interconnect": "NVLink" if WORLD > 1 else None}, "model": {"name": name, "params_b": size} | facts, "parallel": parallel,
            "precision": precision, "optimizer": optimizer, "execution": execution, "framework": f"PyTorch {torch.__version__}, NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}", "measured": measured}


def main():
    parser = argparse.ArgumentParser(description="Measure training steps of PyTorch models as records for sgsim check")
    parser.add_argument("--out", default="pytorch_steps.json")
    parser.add_argument("--only", action="append")
    parser.add_argument("--minutes", type=float, default=60.0)
    flags = parser.parse_args()
    torch.cuda.set_device(DEVICE)
    torch.set_float32_matmul_precision("high")
    if WORLD > 1:
        dist.init_process_group("nccl", device_id=DEVICE)
    records, begin, failed = [], time.perf_counter(), 0
    for name, facts, batch, run in cases():
        if flags.only and not any(o in name for o in flags.only):
            continue
        late = torch.tensor([float(time.perf_counter() - begin > flags.minutes * 60)], device=DEVICE)
        if WORLD > 1:
            dist.all_reduce(late)
        if late.item() > 0:
            break
        try:
            records.append(record(name, facts, batch, run()))
            line = f"{name}: {records[-1]['measured']['step_time_s'] * 1e3:.2f} ms"
        except Exception as error:  # the others are still worth having
            line, failed = f"{name}: FAILED: {type(error).__name__}: {str(error)[:300]}", failed + 1
        if RANK == 0:
            print(line, flush=True)
            with open(flags.out, "w") as f:
                json.dump(records, f, indent=1)
        gc.collect()
        torch._dynamo.reset()
        torch.cuda.empty_cache()
    if WORLD > 1:
        dist.destroy_process_group()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
