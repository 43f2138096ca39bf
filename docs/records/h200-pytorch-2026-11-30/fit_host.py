"""Host constants of h200-measured from the micro-graphs of five hosts: python3 fit_host.py (needs NumPy; run in this folder).

Eager: least relative squares. Compiled: least squares of the microseconds themselves. A launch costs more in a large graph (27 us in one
of 226 and 297 launches, 19 to 25 us in small ones on hosts as fast), and a step that the host binds is a large graph; relative squares
are won by the small graphs and leave the large ones 8 to 37 % short.
"""
import json
import os

import numpy as np

OLD = os.path.join("..", "h200-2026-11-29")
FULL = [os.path.join(OLD, f"pytorch_host_{i}.json") for i in (1, 2, 3)]


def sections(path):
    with open(path) as f:
        return json.load(f)["sections"]


def fit(rows, values, weights):
    """Non-negative least squares; coefficients that would be negative are dropped."""
    rows, values, weights = np.array(rows, float), np.array(values), np.array(weights)
    active = list(range(rows.shape[1]))
    while True:
        x = np.zeros(rows.shape[1])
        x[active] = np.linalg.lstsq(rows[:, active] * weights[:, None], values * weights, rcond=None)[0]
        if (x >= 0).all():
            return x, np.median(np.abs(rows @ x / values - 1))
        active.remove(int(np.argmin(x)))


def main():
    rows, values = [], []
    for path in FULL + ["pytorch_host_4_eager.json", "pytorch_host_5.json"]:
        for s in sections(path)["eager_stacks"]["stacks"]:
            rows += [[1, 0, s["forward_calls"], sum(s["forward_kernels"]), 0], [0, 1, s["backward_calls"], sum(s["backward_kernels"]), s["backward_calls"]]]
            values += [s["forward_us"], s["backward_us"]]
    print("eager: forward pass, backward pass, call, kernel, backward call more:", *fit(rows, values, 1 / np.array(values)))
    rows, values = [], []
    for path, section in [(p, "compiled_stacks") for p in FULL] + [("pytorch_host_5_large.json", "compiled_large")]:
        for s in sections(path)[section]["stacks"]:
            rows += [[1, 0, sum(s["forward_kernels"]), s["forward_kernels"][1], 0], [0, 1, sum(s["backward_kernels"]), s["backward_kernels"][1], s["parameters"]]]
            values += [s["forward_us"], s["backward_us"]]
    print("compiled: forward pass, backward pass, launch, library call more, parameter:", *fit(rows, values, np.ones(len(values))))


main()
