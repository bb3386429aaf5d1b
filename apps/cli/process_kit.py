"""What the tests of sd-cli as a program share. They are called with SD_CLI WORK MAKE_TINY_MODEL."""
import json
import os
import signal
import struct
import subprocess
import sys
import unittest
import zlib

PROGRAM, WORK, MAKE = (os.path.abspath(p) for p in sys.argv[1:4])
MODEL = ["--diffusion-model", "tiny-krea2-int8-convrot.safetensors", "--llm", "tiny-qwen3-vl.gguf",
         "--vae", "tiny-wan-vae.safetensors"]
SMALL = MODEL + ["-W", "64", "-H", "48", "--steps", "2", "--cfg-scale", "1", "-p", "a cat"]
HELP = " (sd-cli --help lists the options)"


def listen_to_signals():
    # What starts the tests may have them ignored.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], cwd=WORK, capture_output=True, timeout=300)


def path(name):
    return os.path.join(WORK, name)


def put(name, data):
    with open(path(name), "wb") as handle:
        handle.write(data)
    return name


def get(name):
    with open(path(name), "rb") as handle:
        return handle.read()


def png(width, height, pixel, channels=3):
    """A PNG whose pixel at x, y has the bytes pixel(x, y)."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(width)) for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def size_of_png(name):
    return struct.unpack(">II", get(name)[16:24])


def names_of_tensors(dump):
    data = get(dump)
    (length,) = struct.unpack("<Q", data[:8])
    return [name for name in json.loads(data[8:8 + length]) if name != "__metadata__"]


def tensor(name, dump):
    """The floats of a tensor of a safetensors file."""
    data = get(dump)
    (length,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8:8 + length])[name]["data_offsets"]
    raw = data[8 + length + begin:8 + length + end]
    return struct.unpack("<%df" % (len(raw) // 4), raw)


def with_metadata(name, pairs):
    """The tiny diffusion model with other metadata."""
    data = get(MODEL[1])
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    header["__metadata__"] = pairs
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return put(name, struct.pack("<Q", len(text)) + text + data[8 + length:])


def main():
    os.makedirs(WORK, exist_ok=True)
    subprocess.run([sys.executable, MAKE, WORK], check=True, stdout=subprocess.DEVNULL)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
