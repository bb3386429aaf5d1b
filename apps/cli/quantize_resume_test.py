#!/usr/bin/env python3
"""quantize_resume_test.py SD_CLI WORK MAKE_TINY_MODEL: sd-cli -M quantize, ended at random moments, and gone on with."""
import json
import os
import random
import signal
import struct
import subprocess
import time
import unittest

from process_kit import PROGRAM, WORK, get, listen_to_signals, path, put, run

COMMAND = ["-M", "quantize", "-m", "large.safetensors", "-o", "big.safetensors", "--format", "w4a8"]
PART, JOURNAL = "big.safetensors.part", "big.safetensors.part.journal"


def write_model(name, layers, rows, columns):
    """BF16 weights between -2 and 2, about 100 MB of them."""
    numbers = random.Random(11)
    row = b"".join(struct.pack("<H", numbers.choice((0x3c00, 0xbc00)) + numbers.randrange(0x400)) for _ in range(columns))
    header = {}
    for i in range(layers):
        header["blocks.%d.w.weight" % i] = {"dtype": "BF16", "shape": [rows, columns],
                                            "data_offsets": [i * rows * columns * 2, (i + 1) * rows * columns * 2]}
    text = json.dumps(header).encode()
    with open(path(name), "wb") as handle:
        handle.write(struct.pack("<Q", len(text)) + text)
        for i in range(layers * rows):
            turn = i * 34 % len(row) & ~1
            handle.write(row[turn:] + row[:turn])


def left():
    return sorted(name for name in os.listdir(WORK) if name.startswith("big"))


class Resume(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(WORK, exist_ok=True)
        for name in left():
            os.remove(path(name))
        write_model("large.safetensors", 6, 2048, 4096)
        begin = time.monotonic()
        done = run(*COMMAND)
        cls.seconds = time.monotonic() - begin
        assert done.returncode == 0, done.stderr.decode()
        cls.whole = get("big.safetensors")
        os.remove(path("big.safetensors"))

    def tearDown(self):
        for name in left():
            os.remove(path(name))

    def start(self):
        process = subprocess.Popen([PROGRAM, *COMMAND], cwd=WORK, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not os.path.exists(path(PART)) and process.poll() is None:
            time.sleep(0.001)
        return process

    def interrupted(self, number):
        """What it says when the signal comes in the middle, which takes some tries."""
        for share in (0.5, 0.3, 0.2, 0.1, 0.4, 0.05, 0.6, 0.02, 0.7):
            process = self.start()
            time.sleep(share * self.seconds)
            process.send_signal(number)
            _, told = process.communicate(timeout=60)
            if process.returncode == 128 + number and os.path.exists(path(PART)):
                return told.decode()
            self.tearDown()
        self.fail("never interrupted in the middle")

    def expect_whole(self):
        done = run(*COMMAND)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        self.assertTrue(get("big.safetensors") == self.whole)
        self.assertEqual(left(), ["big.safetensors"])
        return done

    def test_an_interrupt_keeps_the_part_and_says_how_to_go_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertRegex(self.interrupted(number).splitlines()[-1],
                             r"^error: big\.safetensors: cancelled; \d+ % of it is kept \(the same command goes on from "
                             r"there; to give it up, remove big\.safetensors\.part and "
                             r"big\.safetensors\.part\.journal\)$")
            self.assertEqual(left(), [PART, JOURNAL])
            self.assertIn("going on with big.safetensors.part", self.expect_whole().stderr.decode())
            os.remove(path("big.safetensors"))

    def test_a_second_one_ends_at_once_and_keeps_what_is_done(self):
        for share in (0.5, 0.3, 0.6, 0.2, 0.7):
            process = self.start()
            time.sleep(share * self.seconds)
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            _, told = process.communicate(timeout=60)
            if process.returncode != 0:
                break
            self.tearDown()
        self.assertIn(process.returncode, (128 + signal.SIGINT, 128 + signal.SIGTERM))
        self.assertNotIn(b"error", told)
        self.assertEqual(left(), [PART, JOURNAL])
        self.expect_whole()

    def test_what_is_to_be_ignored_is(self):
        process = subprocess.Popen(["env", "--ignore-signal=HUP", PROGRAM, *COMMAND], cwd=WORK, stderr=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        while not os.path.exists(path(PART)) and process.poll() is None:
            time.sleep(0.001)
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0)
        self.assertTrue(get("big.safetensors") == self.whole)

    def test_killed_at_random_moments_until_it_is_done(self):
        numbers = random.Random(int(time.time()))
        ends = []
        for _ in range(12):
            if os.path.exists(path("big.safetensors")):
                os.remove(path("big.safetensors"))
            for _ in range(3):
                process = self.start()
                wait = numbers.uniform(0, 1.1 * self.seconds)
                ends.append(wait)
                try:
                    process.wait(wait)
                except subprocess.TimeoutExpired:
                    process.kill()
                process.communicate()
                if process.returncode == 0:
                    break
                # Killed after the output took its name, which it only does whole: the work is done.
                if os.path.exists(path("big.safetensors")):
                    if os.path.exists(path(JOURNAL)):
                        os.remove(path(JOURNAL))  # which goes a moment later
                    break
            if not os.path.exists(path("big.safetensors")):
                self.expect_whole()
            self.assertTrue(get("big.safetensors") == self.whole, ends)
            self.assertEqual(left(), ["big.safetensors"], ends)

    def test_what_cannot_be_gone_on_with_is_told_and_stays(self):
        self.interrupted(signal.SIGINT)
        part, journal = get(PART), get(JOURNAL)
        advice = " (to begin anew, remove it and the .part beside it)\n"

        def refused(cause, *options):
            done = run(*COMMAND, *options)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr.decode().endswith("error: " + JOURNAL + ": " + cause + advice),
                            done.stderr.decode())
            self.assertTrue(get(PART) == part)

        refused("is about other options or another version of this program", "--format", "int8")
        put(JOURNAL, journal[:20] + b"x" + journal[21:])
        refused("is damaged")
        put(JOURNAL, b"shopping list")
        refused("is not what this program notes there")
        os.remove(path(JOURNAL))
        done = run(*COMMAND)
        self.assertTrue(done.stderr.decode().endswith("error: big.safetensors.part: exists already (is it of use? remove "
                                                      "it or choose another output)\n"), done.stderr.decode())
        put(JOURNAL, journal)
        self.expect_whole()


if __name__ == "__main__":
    listen_to_signals()
    unittest.main(argv=["quantize_resume_test.py"])
