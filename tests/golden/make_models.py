#!/usr/bin/env python3
"""make_models.py SHARED DIR: writes the tiny checkpoints of the golden cases into DIR, unless they are there."""
import json
import os
import subprocess
import sys


def main():
    shared, folder = sys.argv[1:]
    script = os.path.join(shared, "oracle", "make_tiny_models.py")
    with open(os.path.join(shared, "golden", "pipeline", "index.json"), encoding="utf-8") as handle:
        wanted = list(json.load(handle)["models"])
    missing = [name for name in wanted if not os.path.exists(os.path.join(folder, name))]
    if not missing:
        return 0
    os.makedirs(folder, exist_ok=True)
    for options in ([], ["--only", "wan21-vae-dim96"]):
        done = subprocess.run([sys.executable, script, folder, "--preset", "tiny", *options], stdout=subprocess.DEVNULL)
        if done.returncode != 0:
            return done.returncode
    missing = [name for name in wanted if not os.path.exists(os.path.join(folder, name))]
    if missing:
        print("not made:", *missing, file=sys.stderr)
    return 1 if missing else 0


sys.exit(main())
