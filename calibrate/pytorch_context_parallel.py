#!/usr/bin/env python3
"""Times of the blocks of which a step of ring attention consists, each alone on one GPU (PyTorch's context_parallel).

    python3 calibrate/pytorch_context_parallel.py OUT.json

The causal block of a rank's own tokens, the whole block, and what a load-balanced later step runs: all queries against half of the keys, half of
the queries against all keys. FlashAttention 2, [batch 1, heads, tokens, 128] in bfloat16, forward and backward; medians of five in microseconds,
and TFLOP/s (backward: 2.5 times the forward operations).
"""
import json
import statistics
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SHAPES = [(32, 8192), (32, 32768), (16, 32768)]  # heads, tokens of a rank
REPEATS = 5
HEAD = 128


def median_us(run):
    run()
    times = []
    for _ in range(REPEATS):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return statistics.median(times)


def tensor(heads, tokens):
    return torch.randn(1, heads, tokens, HEAD, device="cuda", dtype=torch.bfloat16, requires_grad=True)


def block_times(heads, queries, keys, causal):
    q, k, v = tensor(heads, queries), tensor(heads, keys), tensor(heads, keys)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
        with torch.no_grad():
            forward_us = median_us(lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        gradient = torch.randn_like(out)
        backward_us = median_us(lambda: torch.autograd.grad(out, (q, k, v), gradient, retain_graph=True))
    flops = 4 * heads * HEAD * queries * keys / (2 if causal else 1)
    return {"heads": heads, "queries": queries, "keys": keys, "causal": causal, "forward_us": forward_us, "backward_us": backward_us,
            "forward_tflops": flops / forward_us / 1e6, "backward_tflops": 2.5 * flops / backward_us / 1e6}


def main(path):
    blocks = [block_times(heads, queries, keys, causal) for heads, n in SHAPES
              for queries, keys, causal in ((n, n, True), (n, n, False), (n, n // 2, False), (n // 2, n, False))]
    with open(path, "w", encoding="utf-8") as out:
        json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "blocks": blocks}, out, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
