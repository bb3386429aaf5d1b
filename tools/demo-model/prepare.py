#!/usr/bin/env python3
"""prepare.py STATE: collects pictures and captions into STATE/data.npz, with STATE/data.png to look at."""
import json
import os
import sys

import numpy as np

import emoji


def load(state):
    """Pictures, uint8 [N, 64, 64, 3], and for each a list of names and one of keywords."""
    with np.load(os.path.join(state, "data.npz")) as data:
        texts = json.loads(str(data["texts"]))
        return data["pictures"], [t["names"] for t in texts], [t["keywords"] for t in texts]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    state = sys.argv[1]
    os.makedirs(state, exist_ok=True)
    chosen = emoji.collect()
    pictures = np.stack([one.pixels for one in chosen])
    texts = json.dumps([{"text": one.text, "names": one.names, "keywords": one.keywords} for one in chosen])
    path = os.path.join(state, "data.npz")
    with open(path + ".part", "wb") as file:
        np.savez_compressed(file, pictures=pictures, texts=texts)
    os.replace(path + ".part", path)
    emoji.save_png(os.path.join(state, "data.png"), emoji.sheet(list(pictures), 30))
    print("%d pictures" % len(pictures))


if __name__ == "__main__":
    main()
