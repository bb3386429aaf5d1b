#!/usr/bin/env python3
"""full_size.py DIR: writes Krea 2, Qwen3-VL 4B and the Wan 2.1 VAE in their published sizes, with random weights.
full_size.py DIR BLOCKS: writes only a Krea 2 in BF16 with so many of its 28 blocks; 26 are 24 GB. For the quantizer.

About 16 GB, for measuring speed and memory: INT8 ConvRot with groups of 256, Q4_K, BF16. Nothing is in memory for longer
than it takes to write it.
"""
import os
import random
import struct
import sys

import make

BLOCK = 1 << 20


class Lazy:
    """Bytes that are made when they are written: `count` of them, repeating a block."""

    def __init__(self, block, count):
        self.block, self.count = block, count

    def __len__(self):
        return self.count

    def write(self, file):
        for _ in range(self.count // len(self.block)):
            file.write(self.block)
        file.write(self.block[:self.count % len(self.block)])


class Out:
    """A file that takes Lazy, too."""

    def __init__(self, file):
        self.file = file

    def write(self, data):
        if isinstance(data, Lazy):
            data.write(self.file)
        else:
            self.file.write(data)


def lazy_bf16(rng, count, spread):
    values = make.floats(rng, min(count, 65536), spread)
    return Lazy(make.bf16(values), 2 * count)


class Krea2(make.Krea2):
    def float(self, name, shape, spread):
        self.add(name, "BF16", shape, lazy_bf16(self.rng, make.product(shape), spread))

    def int8(self, name, n, k):
        self.add(name + ".weight", "I8", [n, k], Lazy(self.rng.randbytes(BLOCK), n * k))
        self.add(name + ".weight_scale", "F32", [n, 1], make.f32([k ** -0.5 / 74] * n))
        self.settings(name, {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 256})

    int4 = int8


class FloatKrea2(Krea2):
    def int8(self, name, n, k):
        self.plain(name, n, k)

    int4 = int8


class WanVae(make.WanVae):
    def conv(self, name, out, into, kernel=(3, 3, 3)):
        shape = [out, into, *kernel]
        spread = (into * make.product(kernel[-2:])) ** -0.5
        self.add(name + ".weight", "BF16", shape, lazy_bf16(self.rng, make.product(shape), spread))
        self.add(name + ".bias", "BF16", [out], make.bf16(make.floats(self.rng, out, 0.05)))


def write_safetensors(tensors, path):
    """As make.Safetensors.write does, through Out."""
    real_open = open

    class Opened:
        def __enter__(self):
            self.file = real_open(path + ".part", "wb")
            return Out(self.file)

        def __exit__(self, *problem):
            self.file.close()

    make.open = lambda *_: Opened()
    try:
        tensors.write(path, {"description": "random weights of full size"})
    finally:
        del make.open


def q4_k_block(rng):
    """256 weights of about N(0, 0.02): scales of one half, mins that take the middle away."""
    scales = bytes([32] * 4 + [32] * 4 + [0] * 4)
    return struct.pack("<ee", 0.02 / 4.6 / 32, 0.02 / 4.6 / 32 * 7.5) + scales + rng.randbytes(128)


def text_encoder(rng, path):
    """The published sizes; layers in Q4_K, token rows too."""
    hidden, layers, heads, kv_heads, head, mlp, vocabulary = 2560, 36, 32, 8, 128, 9728, 151936
    tokens, merges = make.vocabulary()
    out = make.Gguf()
    out.text("general.architecture", "qwen3vl")
    out.text("tokenizer.ggml.model", "gpt2")
    out.texts("tokenizer.ggml.tokens", tokens)
    out.numbers("tokenizer.ggml.token_type", [3 if t in make.SPECIAL else 1 for t in tokens])
    out.texts("tokenizer.ggml.merges", merges)
    block = b"".join(q4_k_block(rng) for _ in range(4096))

    def matrix(name, rows, columns):
        out.add(name, [rows, columns], 12, Lazy(block, rows * columns // 256 * 144))

    def norm(name, size):
        out.add(name, [size], 0, make.f32(make.floats(rng, size, 0.1, 1.0)))

    matrix("token_embd.weight", vocabulary, hidden)
    for i in range(layers):
        blk = "blk.%d." % i
        norm(blk + "attn_norm.weight", hidden)
        for part, rows in (("q", heads * head), ("k", kv_heads * head), ("v", kv_heads * head)):
            matrix(blk + "attn_" + part + ".weight", rows, hidden)
        norm(blk + "attn_q_norm.weight", head)
        norm(blk + "attn_k_norm.weight", head)
        matrix(blk + "attn_output.weight", hidden, heads * head)
        norm(blk + "ffn_norm.weight", hidden)
        matrix(blk + "ffn_gate.weight", mlp, hidden)
        matrix(blk + "ffn_up.weight", mlp, hidden)
        matrix(blk + "ffn_down.weight", hidden, mlp)
    norm("output_norm.weight", hidden)
    info, offset = b"", 0
    for name, shape, kind, data in out.tensors:
        ne = list(reversed(shape))
        info += out.string(name) + struct.pack("<I%dq" % len(ne), len(ne), *ne) + struct.pack("<iQ", kind, offset)
        offset += len(data) + -len(data) % 32
    head_bytes = b"GGUF" + struct.pack("<IqQ", 3, len(out.tensors), len(out.pairs)) + b"".join(out.pairs) + info
    with open(path + ".part", "wb") as file:
        file.write(head_bytes + b"\0" * (-len(head_bytes) % 32))
        for _, _, _, data in out.tensors:
            Out(file).write(data)
            file.write(b"\0" * (-len(data) % 32))
    os.replace(path + ".part", path)


def main():
    if len(sys.argv) not in (2, 3) or not "".join(sys.argv[2:] or "1").isdigit():
        print("usage: full_size.py DIR [BLOCKS]", file=sys.stderr)
        return 2
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    make.WIDTH, make.HEADS, make.KV_HEADS, make.HEAD_DIM, make.MLP, make.LAYERS = 6144, 48, 12, 128, 16384, 28
    make.TEXT_WIDTH, make.TEXT_HEADS, make.TEXT_MLP, make.STATES = 2560, 20, 6912, 12
    make.VAE_WIDTH = 96
    if len(sys.argv) == 3:
        make.LAYERS = int(sys.argv[2])
        write_safetensors(FloatKrea2(random.Random(1)), os.path.join(folder, "full-krea2-bf16.safetensors"))
        return 0
    write_safetensors(Krea2(random.Random(1)), os.path.join(folder, "full-krea2-int8-convrot.safetensors"))
    text_encoder(random.Random(2), os.path.join(folder, "full-qwen3-vl-q4_k.gguf"))
    write_safetensors(WanVae(random.Random(3)), os.path.join(folder, "full-wan-vae.safetensors"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
