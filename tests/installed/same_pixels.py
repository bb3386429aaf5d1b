#!/usr/bin/env python3
"""same_pixels.py PNG PPM: whether two pictures are the same. The PNG is 8-bit RGB, not interlaced."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import png_pixels  # noqa: E402


def main():
    width, height, channels, pixels = png_pixels.read(sys.argv[1])
    with open(sys.argv[2], "rb") as handle:
        other = handle.read()
    same = channels == 3 and other == b"P6\n%d %d\n255\n" % (width, height) + pixels
    if not same:
        print(f"{sys.argv[1]} and {sys.argv[2]} differ", file=sys.stderr)
    return 0 if same else 1


sys.exit(main())
