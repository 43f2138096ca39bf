#!/usr/bin/env python3
"""What types.json says: energy of a product by type over bfloat16's, attention by library, what casts to 8 bits cost in bytes of a copy."""
import json
import pathlib
import statistics

here = pathlib.Path(__file__).parent
sections = json.loads((here / "types.json").read_text())["sections"]
SLEEP_US, BASE_W = 4000 * 1900 / 1980.0, 0.182 * 700.0  # the pause at full clock; power.base of h200-measured
COPY_BYTES_PER_US = 4.2e6  # h200-measured's copy curve at some 500 MB

energy = {}
for row in sections["power_types"]["rows"]:
    if row["streams"] == 0 and row["pause_us"] == 4000:
        busy = sum(k["us"] * k["count"] for name, k in row["kernels"].items() if "Memset" not in name)
        energy[row["load"]] = (row["watts"] - BASE_W) * (busy + SLEEP_US) * 1e-6 / row["flops"]
for name, joules in energy.items():
    print(f"{name}: {joules * 1e12:.2f} pJ a flop, {joules / energy['bf16']:.2f} of bfloat16's, power.energy.matmul {1.476 * joules / energy['bf16']:.2f}")

rows = {(r["head_dim"], r["heads"], r["length"], r["causal"], r["library"]): r for r in sections["attention_backends"]}
for head_dim in (64, 128):
    for which in ("forward_us", "backward_us"):
        ratios = [r[which] / rows[k[:4] + ("cudnn",)][which] for k, r in rows.items() if k[0] == head_dim and k[4] == "flash"]
        print(f"head size {head_dim}, {which[:-3]}: flash over cuDNN median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")

for name in ("tensor both layouts", "row", "column"):
    costs = [sum(k["us"] for k in r["kernels"]) * COPY_BYTES_PER_US / (r["rows"] * r["columns"]) for r in sections["float8_casts"] if r["cast"] == name and r["rows"] > 4096]
    print(f"cast, {name}: {statistics.mean(costs):.1f} bytes an element of a copy")
