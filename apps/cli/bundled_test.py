#!/usr/bin/env python3
"""bundled_test.py SD_CLI WORK ASSETS: what the model that comes with the program draws, compared with the sheet that was
drawn when it was made (ASSETS/sheet.png, shown in README.md)."""
import os
import shutil
import struct
import subprocess
import sys
import unittest
import zlib

PROGRAM, WORK, ASSETS = (os.path.abspath(p) for p in sys.argv[1:4])


def paeth(a, b, c):
    p = a + b - c
    return min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]


def pixels_of(path):
    """Width, height and bytes of an RGB PNG of 8 bits."""
    with open(path, "rb") as file:
        data = file.read()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2), path
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, row, out = zlib.decompress(packed), bytes(3 * width), []
    for y in range(height):
        method, line = raw[y * (3 * width + 1)], bytearray(raw[y * (3 * width + 1) + 1:(y + 1) * (3 * width + 1)])
        for i in range(len(line)):
            left, above, corner = line[i - 3] if i > 2 else 0, row[i], row[i - 3] if i > 2 else 0
            line[i] = line[i] + (0, left, above, (left + above) // 2, paeth(left, above, corner))[method] & 255
        row = bytes(line)
        out.append(row)
    return width, height, b"".join(out)


def draw(*arguments):
    done = subprocess.run([PROGRAM, *arguments], cwd=WORK, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


class TheBundledModel(unittest.TestCase):
    def test_draws_what_it_drew(self):
        said = draw("--prompts", os.path.join(ASSETS, "prompts.txt"), "-o", "one_%d.png", "--grid", "sheet.png")
        self.assertEqual(said.count("no model is given: "), 1)
        self.assertIn("the model's own settings: 64x64, 8 steps, cfg scale 3", said)
        now, before = pixels_of(os.path.join(WORK, "sheet.png")), pixels_of(os.path.join(ASSETS, "sheet.png"))
        self.assertEqual(now[:2], before[:2])
        # Processors differ in the last bits of floats, and 8-bit activations make steps of them.
        apart = sum(abs(a - b) for a, b in zip(now[2], before[2])) / len(now[2])
        self.assertLess(apart, 4.0)
        # What would be as far from it as another order of the prompts: the measure can fail.
        width = now[0] * 3
        turned = b"".join(now[2][i:i + width][72 * 3:] + now[2][i:i + width][:72 * 3] for i in range(0, len(now[2]), width))
        self.assertGreater(sum(abs(a - b) for a, b in zip(turned, before[2])) / len(turned), 20.0)

    def test_draws_the_same_on_one_thread_and_on_two(self):
        draw("-p", "a red apple", "-s", "3", "-t", "1", "-o", "t1.png")
        draw("-p", "a red apple", "-s", "3", "-t", "2", "-o", "t2.png")
        with open(os.path.join(WORK, "t1.png"), "rb") as one, open(os.path.join(WORK, "t2.png"), "rb") as two:
            self.assertEqual(one.read(), two.read())


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
