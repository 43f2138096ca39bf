#!/usr/bin/env python3
"""Constants of the power model (sim/cost/power.h) from loads.json: python3 fit.py

A load is repeated without a pause; `time_s` is at full clock (by the profile; where the load does not throttle, as measured), `work` in flops or
bytes, `rest_s` what lies between kernels. Measured: the clock over 1,980 MHz where the GPU throttled, else power over 700 W.
"""
import json, os, random

LOADS = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "loads.json")))
TIME_EXPONENT = {"matmul": 0.69, "attention_forward": 0.9, "attention_backward": 0.9, "memory_bound": 0.0}  # from the kernels' own times at both clocks
START = {"matmul": 1.35, "attention_forward": 0.74, "scores_forward": 0.56, "attention_backward": 1.42, "scores_backward": 1.0, "memory_bound": 1.8,
         "communication": 0.22, "base": 0.18, "x_matmul": 0.7, "x_attention": 0.7, "x_memory_bound": 0.1}


def energy(kernel, c, f):
    kind = kernel["kind"]
    if kind.startswith("communication"):
        return c["communication"] * kernel["time_s"]
    if kind == "memory_bound":
        return c["memory_bound"] * kernel["work"] / 1e13 * f ** c["x_memory_bound"]
    if kind == "matmul":
        return c["matmul"] * kernel["work"] / 1e15 * f ** c["x_matmul"]
    scores = c["scores_" + kind.split("_")[1]] * kernel["scores"] / 1e12
    return (c[kind] * kernel["work"] / 1e15 + scores) * f ** c["x_attention"]


def power(load, c, f):
    time = load["rest_s"] + sum(k["time_s"] * f ** -TIME_EXPONENT.get(k["kind"], 0.0) for k in load["kernels"] if k["kind"] != "communication beside")
    return c["base"] + sum(energy(k, c, f) for k in load["kernels"]) / time


def clock(load, c):
    if power(load, c, 1.0) <= 1.0:
        return 1.0
    low, high = 0.4, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if power(load, c, middle) > 1.0 else (middle, high)
    return low


def misfit(c):
    total = 0.001 * ((c["base"] - 0.18) / 0.05) ** 2  # an idle GPU at full clock draws 125 W
    for load in LOADS:
        if load["clock_share"]:
            total += (clock(load, c) - load["clock_share"]) ** 2
        if load["power_share"]:
            total += (0.5 * (min(1.0, power(load, c, 1.0)) - load["power_share"])) ** 2
    return total


random.seed(2)
best, least, step = dict(START), misfit(START), 0.1
for turn in range(9000):
    trial = {k: v * (1 + random.gauss(0, step)) if random.random() < 0.4 else v for k, v in best.items()}
    m = misfit(trial)
    if m < least:
        best, least = trial, m
    if turn % 1500 == 1499:
        step *= 0.6
print({k: float("%.4g" % v) for k, v in best.items()}, "misfit", round(least, 5))
for load in LOADS:
    print("%-12s clock %s predicted %.3f  power %s predicted %.3f" % (load["load"], load["clock_share"], clock(load, best), load["power_share"], min(1.0, power(load, best, 1.0))))
