#!/usr/bin/env python3
"""bundled_test.py SD_CLI WORK ASSETS: what the model that comes with the program draws, compared with the sheet that was
drawn when it was made (ASSETS/sheet.png, shown in README.md)."""
import os
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "support"))
import png_pixels  # noqa: E402

PROGRAM, WORK, ASSETS = (os.path.abspath(p) for p in sys.argv[1:4])


def draw(*arguments, **settings):
    done = subprocess.run([PROGRAM, *arguments], cwd=WORK, env={**os.environ, **settings}, capture_output=True,
                          timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode()


class TheBundledModel(unittest.TestCase):
    def test_draws_what_it_drew(self):
        said = draw("--prompts", os.path.join(ASSETS, "prompts.txt"), "-o", "one_%d.png", "--grid", "sheet.png")
        self.assertEqual(said.count("no model is given: "), 1)
        self.assertIn("the model's own settings: 64x64, 8 steps, cfg scale 3", said)
        now, before = (png_pixels.read(os.path.join(folder, "sheet.png")) for folder in (WORK, ASSETS))
        self.assertEqual(now[:3], before[:3])
        # Processors differ in the last bits of floats, and 8-bit activations make steps of them.
        apart = sum(abs(a - b) for a, b in zip(now[3], before[3])) / len(now[3])
        self.assertLess(apart, 4.0)
        # What would be as far from it as another order of the prompts: the measure can fail.
        width = now[0] * 3
        rows = [now[3][i:i + width] for i in range(0, len(now[3]), width)]
        turned = b"".join(row[72 * 3:] + row[:72 * 3] for row in rows)
        self.assertGreater(sum(abs(a - b) for a, b in zip(turned, before[3])) / len(turned), 20.0)

    def test_draws_the_same_on_any_number_of_threads(self):
        def apple(threads, **settings):
            draw("-p", "a red apple", "-s", "3", "-t", str(threads), "-o", "apple.png", **settings)
            with open(os.path.join(WORK, "apple.png"), "rb") as file:
                return file.read()

        one = apple(1)
        self.assertEqual(apple(2), one)
        # OpenMP may be told to give fewer than it is asked for.
        for settings in ({"OMP_DYNAMIC": "true"}, {"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "3"},
                         {"OMP_MAX_ACTIVE_LEVELS": "0"}):
            self.assertEqual(apple(4, **settings), one, settings)


if __name__ == "__main__":
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
