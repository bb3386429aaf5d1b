#!/usr/bin/env python3
"""run.py STATE OUT: makes the demo model from the font to the files in OUT, in a folder STATE that holds all that is
half done. Killed at any time, it goes on where it was (at most two minutes are done again) when it is started again.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("state")
    parser.add_argument("out")
    parser.add_argument("--pause-file", default="", help="training sleeps while this file exists")
    parser.add_argument("--vae-steps", default="5000")
    parser.add_argument("--vae-decay", default="2000")
    parser.add_argument("--steps", default="7500", help="of the diffusion model; more later go on from these")
    parser.add_argument("--decay", default="2500", help="of them, in which the learning rate falls to zero")
    a = parser.parse_args()
    state = os.path.abspath(a.state)
    # One thread for each of the two processes, memory kept instead of given back, compiled loops kept for next time.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_MMAP_MAX_": "0",
                   "MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_TOP_PAD_": "100000000",
                   "TORCHINDUCTOR_CACHE_DIR": os.path.join(state, "compiled")}

    def run(script, *arguments):
        subprocess.run([sys.executable, os.path.join(HERE, script), *arguments], env=environment, check=True)

    def missing(name):
        return not os.path.exists(os.path.join(state, name))

    os.nice(19)
    if missing("data.npz"):
        run("prepare.py", state)
    if missing("vae.pt"):
        run("train_vae.py", state, "--steps", a.vae_steps, "--decay", a.vae_decay, "--pause-file", a.pause_file)
    run("train_model.py", state, "--steps", a.steps, "--decay", a.decay, "--pause-file", a.pause_file)
    run("evaluate.py", state, "--sheet", os.path.join(state, "sheet.png"))
    run("export.py", state, a.out)


if __name__ == "__main__":
    main()
