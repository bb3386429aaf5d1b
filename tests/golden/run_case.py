#!/usr/bin/env python3
"""run_case.py SD_CLI SHARED MODELS CASE WORK [OPTION ...]: runs a golden case's command and judges every tensor on the way."""
import json
import os
import shlex
import subprocess
import sys


def main():
    program, shared, models, case_id, work = sys.argv[1:6]
    golden = os.path.join(shared, "golden", "pipeline")
    with open(os.path.join(golden, "index.json"), encoding="utf-8") as handle:
        case = next(c for c in json.load(handle)["cases"] if c["id"] == case_id)
    os.makedirs(work, exist_ok=True)
    dump = os.path.join(work, "dump.safetensors")
    command = [program] + shlex.split(case["command"])[1:]
    command += ["--dump-tensors", dump, "-o", os.path.join(work, "picture.png")]
    command += sys.argv[6:]
    if subprocess.run(command, cwd=models).returncode != 0:
        return 1
    # Some were recorded with a program that left out what this one applies; the index says what counts.
    expected = case.get("compare_with", case_id)
    judge = [sys.executable, os.path.join(shared, "oracle", "compare_golden.py"), golden, expected, dump]
    judged = subprocess.run(judge, capture_output=True, text=True)
    print(judged.stdout, judged.stderr)
    os.remove(dump)
    # A tensor the dump does not have is no failure to that script.
    return 1 if "not in dump" in judged.stdout else judged.returncode


sys.exit(main())
