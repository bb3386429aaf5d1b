#!/usr/bin/env python3
"""process_end_test.py SD_CLI WORK MAKE_TINY_MODEL: how sd-cli ends when it is told to or has no memory, and what it
draws on a terminal.
"""
import contextlib
import fcntl
import os
import pty
import re
import resource
import signal
import struct
import subprocess
import termios
import threading
import time
import unittest

from process_kit import MODEL, PROGRAM, SMALL, WORK, listen_to_signals, main, path, png, put

MIB = 1 << 20
PICTURE = ["-p", "x", "-W", "256", "-H", "256", "--steps", "1", "--cfg-scale", "1", "-t", "2", "-o", "little.png"]


@contextlib.contextmanager
def killed_late(process):
    timer = threading.Timer(120, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Signals(unittest.TestCase):
    def start(self, steps, *more):
        with subprocess.Popen([PROGRAM, *SMALL, "--steps", str(steps), "-o", "never.png", "--preview", "proj",
                               "--preview-path", "begun.png", *more], cwd=WORK, stderr=subprocess.PIPE,
                              preexec_fn=listen_to_signals) as process:
            deadline = time.time() + 120
            while not os.path.exists(path("begun.png")) and time.time() < deadline:
                time.sleep(0.01)
            yield process
            if process.poll() is None:
                process.kill()

    def test_the_first_one_ends_in_order(self):
        def unfinished():
            return {n for n in os.listdir(WORK) if n.startswith(".unfinished")}

        # Programs that were made to end at once, here or in a run before, may have left some.
        before = unfinished()
        for number in (signal.SIGINT, signal.SIGTERM):
            for name in ("begun.png", "never.png"):
                if os.path.exists(path(name)):
                    os.remove(path(name))
            for process in self.start(10000):
                process.send_signal(number)
                told = process.communicate(timeout=120)[1].decode()
                self.assertEqual(process.returncode, 128 + number)
                self.assertTrue(told.endswith("error: interrupted; 0 of 1 pictures are saved\n"), told)
            self.assertFalse(os.path.exists(path("never.png")))
            self.assertEqual(unfinished() - before, set())

    def test_the_second_one_ends_at_once(self):
        if os.path.exists(path("begun.png")):
            os.remove(path("begun.png"))
        for process in self.start(10000):
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            told = process.communicate(timeout=120)[1].decode()
            self.assertIn(process.returncode, (128 + signal.SIGINT, 128 + signal.SIGTERM))
            self.assertNotIn("interrupted", told)
        self.assertFalse(os.path.exists(path("never.png")))

    def test_a_pipe_gets_the_picture_whole(self):
        pipe = path("read.png")
        if not os.path.lexists(pipe):
            os.mkfifo(pipe)
        with subprocess.Popen([PROGRAM, *SMALL, "-o", "read.png"], cwd=WORK) as process, killed_late(process):
            with open(pipe, "rb") as reader:
                picture = reader.read()
            self.assertEqual(process.wait(), 0)
        self.assertTrue(picture.startswith(b"\x89PNG") and picture.endswith(b"IEND\xaeB`\x82"), picture[:40])

    def test_a_pipe_that_nobody_reads_is_left(self):
        if not os.path.lexists(path("unread.png")):
            os.mkfifo(path("unread.png"))
        with subprocess.Popen([PROGRAM, *SMALL, "-o", "unread.png"], cwd=WORK, stderr=subprocess.PIPE,
                              preexec_fn=listen_to_signals) as process, killed_late(process):
            for line in process.stderr:
                if line.startswith(b"decoding: done"):
                    break
            process.send_signal(signal.SIGINT)
            told = process.communicate()[1].decode()
        self.assertEqual(process.returncode, 128 + signal.SIGINT, told)
        self.assertIn("unread.png: is a pipe that nobody reads\n", told)

    def test_the_second_one_leaves_nothing_of_a_trace(self):
        nameless = os.open(WORK, os.O_TMPFILE | os.O_WRONLY)  # fails where the file system has no such files
        os.close(nameless)
        if os.path.exists(path("begun.png")):
            os.remove(path("begun.png"))
        before = set(os.listdir(WORK)) | {"begun.png"}
        for process in self.start(10000, "--trace", "t.json"):
            process.send_signal(signal.SIGSTOP)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGCONT)
            process.communicate(timeout=120)
            self.assertIn(process.returncode, (128 + signal.SIGINT, 128 + signal.SIGTERM))
        self.assertEqual(set(os.listdir(WORK)) - before, set())


class Terminal(unittest.TestCase):
    def test_the_bar_is_no_wider_than_the_terminal(self):
        for columns in (30, 60):
            leader, follower = pty.openpty()
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            process = subprocess.Popen([PROGRAM, *SMALL, "--steps", "5", "-o", "bar.png", "--color"], cwd=WORK,
                                       stderr=follower)
            os.close(follower)
            seen = b""
            while True:
                try:
                    piece = os.read(leader, 4096)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                seen += piece
            os.close(leader)
            self.assertEqual(process.wait(timeout=120), 0)
            bars = re.findall(r"\r\x1b\[K(sampling [^\r\n]*)", seen.decode())
            self.assertGreaterEqual(len(bars), 5)
            self.assertTrue(all(len(bar) < columns for bar in bars), bars)
            self.assertEqual("|" in bars[-1], columns == 60)


def run_within(mebibytes, *arguments):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (mebibytes * MIB, mebibytes * MIB))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return subprocess.run([PROGRAM, *arguments], cwd=WORK, capture_output=True, timeout=300, preexec_fn=limit, check=False)


class LittleMemory(unittest.TestCase):
    def least(self):
        """The least limit within which the program can be loaded at all."""
        if run_within(2048, "--version").returncode != 0:
            self.skipTest("this build reserves addresses by the terabyte, as sanitizers do")
        return next(m for m in range(16, 2048, 8) if run_within(m, "--version").returncode == 0)

    def ended_in_order(self, mebibytes, arguments):
        if os.path.exists(path("little.png")):
            os.remove(path("little.png"))
        done = run_within(mebibytes, *arguments)
        told = done.stderr.decode()
        self.assertIn(done.returncode, (0, 1), (mebibytes, told))
        self.assertEqual(os.path.exists(path("little.png")), done.returncode == 0, (mebibytes, told))
        if done.returncode == 1:
            self.assertEqual(told.count("error: "), 1, (mebibytes, told))
            self.assertIn("memory", told.split("error: ")[1])
        return done.returncode

    def test_whatever_the_limit_it_ends_with_a_picture_or_a_line(self):
        least = self.least() + 8
        ends = [self.ended_in_order(m, MODEL + PICTURE) for m in range(least, least + 240, 12)]
        self.assertEqual(set(ends), {0, 1})
        self.assertEqual(self.ended_in_order(least + 1024, MODEL + PICTURE), 0)

    def test_float_models_and_initial_pictures_too(self):
        least = self.least() + 8
        put("init.png", png(256, 256, lambda x, y: (x, y, 0)))
        model = ["--diffusion-model", "tiny-krea2-bf16.safetensors", *MODEL[2:]]
        for m in range(least, least + 240, 24):
            self.ended_in_order(m, model + PICTURE + ["-i", "init.png", "--strength", "1"])

    @staticmethod
    def within(limit, *more):
        """Its exit status, its errors, and the most memory it had, in MiB."""
        with subprocess.Popen([PROGRAM, *MODEL, "-p", "x", "-W", "256", "-H", "256", "--steps", "1", "-t", "2",
                               "--disable-image-metadata", *more, "--max-ram", "%dMiB" % limit],
                              cwd=WORK, stderr=subprocess.PIPE) as process, killed_late(process):
            told = process.stderr.read().decode()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode, told, usage.ru_maxrss / 1024

    def test_max_ram_is_kept_or_refused_with_a_limit_that_would_do(self):
        self.least()
        put("init.png", png(256, 256, lambda x, y: (x, y, 0)))
        for more, tiled in ([], 1), (["-i", "init.png", "--strength", "1"], 2):
            limit = 1
            for _ in range(8):
                status, told, most = self.within(limit, "-b", "4", "-o", "batch_%d.png", *more)
                if status == 0:
                    break
                would_do = re.search(r"error: .* needs at least .*: a limit of (\d+) MiB would do here", told)
                self.assertIsNotNone(would_do, told)
                self.assertGreater(int(would_do[1]), limit, told)
                limit = int(would_do[1])
            self.assertEqual(status, 0, told)
            self.assertLessEqual(most, limit)
            self.assertEqual(len(re.findall("it is done in (small )?tiles", told)), tiled, told)
            self.assertEqual(told.count("\nsaved "), 4)


if __name__ == "__main__":
    main()
