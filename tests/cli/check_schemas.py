"""Checks the shipped files, and what sgsim prints, against scenarios/schema with the jsonschema package.

Usage: check_schemas.py SGSIM. Exit code 77 (skipped) where the package is not installed.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: the Python package jsonschema is not installed (Debian: python3-jsonschema)")
    sys.exit(77)

ROOT = pathlib.Path("scenarios")


def schema(name):
    document = json.loads((ROOT / "schema" / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def check(validator, document, what):
    errors = sorted(validator.iter_errors(document), key=lambda error: list(error.path))
    for error in errors:
        print(f"{what}: {error.json_path}: {error.message}")
    return len(errors)


def main(sgsim):
    scenario, cluster, sweep, result = map(schema, ("scenario", "cluster", "sweep", "result"))
    wrong = checked = 0
    for path in sorted(ROOT.glob("*.json")) + sorted((ROOT / "sweeps").glob("*.json")):
        document = json.loads(path.read_text())
        wrong += check(sweep if "axes" in document else scenario, document, path)
        checked += 1
        if "axes" in document:
            continue
        effective = subprocess.run([sgsim, "scenario", path, "--effective"], capture_output=True, text=True, check=True).stdout
        wrong += check(scenario, json.loads(effective), f"{path} --effective")
    for path in sorted((ROOT / "clusters").glob("*.json")):
        wrong += check(cluster, json.loads(path.read_text()), path)
        checked += 1
    small = ROOT / "gpt2-124m-1xh200-compiled.json"
    for settings in ([], ["--set", "plan.tp=5"], ["--set", "plan.micro_batch=512", "--set", "plan.global_batch=512"]):
        printed = subprocess.run([sgsim, "simulate", small, "--json", *settings], capture_output=True, text=True, check=False).stdout
        wrong += check(result, json.loads(printed), f"simulate {small} {settings}")
    if checked == 0:
        print("no files found: run this from the repository root")
        wrong += 1
    print(f"{checked} files checked, {wrong} problems")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
