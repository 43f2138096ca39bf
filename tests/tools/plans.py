"""What the tests of written timelines share: running sgsim, and a scenario of a Llama on A100s to change."""
import os
import subprocess
import sys


def run(sgsim, arguments):
    """Standard output of `sgsim arguments`; ends the test where it fails."""
    result = subprocess.run([sgsim] + arguments, capture_output=True, text=True)
    if result.returncode not in (0, 4):  # 4: does not fit in memory, which this is not about
        sys.exit("sgsim " + " ".join(arguments) + ": " + result.stderr.strip() + result.stdout.strip()[-500:])
    return result.stdout


def llama(source):
    """One rank, one micro-batch of one sample, everything recomputed."""
    return {"schema_version": 1, "model": {"config": os.path.join(source, "scenarios/models/llama3-8b.json"), "sequence": 2048, "attention": "flash"},
            "training": {"execution": "compiled"},
            "plan": {"dp": 1, "tp": 1, "pp": 1, "sharding": "ddp", "sequence_parallel": False, "schedule": "1f1b", "micro_batch": 1, "global_batch": 1, "recompute": "full"},
            "cluster": {"builtin": "dgx-a100-80gb", "nodes": 1}}
