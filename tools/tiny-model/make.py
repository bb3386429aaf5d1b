#!/usr/bin/env python3
"""make.py DIR: writes a tiny image model with random weights, in the formats real ones are downloaded in.

  tiny-krea2-int8-convrot.safetensors  diffusion model: INT8 ConvRot, packed INT4 and BF16 layers
  tiny-krea2-bf16.safetensors          the same in BF16 alone, for quantizing
  tiny-qwen3-vl.gguf                   text encoder with its own vocabulary
  tiny-wan-vae.safetensors             VAE

Everything a program does with real checkpoints it does with these, on any machine within seconds; what they paint is
noise. Needs nothing but Python. The same files come out everywhere.
"""
import argparse
import json
import os
import random
import struct
import sys

WIDTH, HEADS, KV_HEADS, HEAD_DIM, MLP, LAYERS = 128, 4, 2, 32, 256, 2
TEXT_WIDTH, TEXT_HEADS, TEXT_MLP, STATES = 64, 2, 128, 2  # two states: an encoder of five layers
LLM_LAYERS, LLM_HEADS, LLM_KV_HEADS, LLM_MLP = 5, 2, 1, 128
VAE_WIDTH = 8

TEMPLATE = ("system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial "
            "relationships of the objects and background:\nuser\nassistant\n")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def floats(rng, count, spread, middle=0.0):
    return [rng.gauss(middle, spread) for _ in range(count)]


def f32(values):
    return struct.pack("<%df" % len(values), *values)


def bf16(values):
    """The upper halves of floats, rounded to nearest, ties to even."""
    words = struct.unpack("<%dI" % len(values), f32(values))
    return struct.pack("<%dH" % len(values), *((w + 0x7FFF + (w >> 16 & 1)) >> 16 for w in words))


def product(shape):
    count = 1
    for size in shape:
        count *= size
    return count


class Safetensors:
    def __init__(self):
        self.tensors = {}

    def add(self, name, dtype, shape, data):
        self.tensors[name] = (dtype, shape, data)

    def write(self, path, metadata):
        header, offset = {"__metadata__": metadata}, 0
        for name, (dtype, shape, data) in self.tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path + ".part", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, data in self.tensors.values():
                file.write(data)
        os.replace(path + ".part", path)


class Krea2(Safetensors):
    """Random integers are as good as rotated and rounded weights here."""

    def __init__(self, rng):
        super().__init__()
        self.rng = rng
        self.linear("first", WIDTH, 64)
        self.linear("tmlp.0", WIDTH, 256)
        self.linear("tmlp.2", WIDTH, WIDTH)
        self.linear("tproj.1", 6 * WIDTH, WIDTH)
        self.float("txtfusion.projector.weight", [1, STATES], 0.7)
        for kind in ("layerwise", "refiner"):
            for i in range(2):
                name = "txtfusion.%s_blocks.%d." % (kind, i)
                self.block(name, TEXT_WIDTH, TEXT_WIDTH, TEXT_MLP, self.plain, "")
        self.float("txtmlp.0.scale", [TEXT_WIDTH], 0.1)
        self.linear("txtmlp.1", WIDTH, TEXT_WIDTH)
        self.linear("txtmlp.3", WIDTH, WIDTH)
        for i in range(LAYERS):
            name = "blocks.%d." % i
            self.float(name + "mod.lin", [6 * WIDTH], 0.2)
            self.block(name, WIDTH, KV_HEADS * HEAD_DIM, MLP, self.int8, "int4" if i == 1 else "")
        self.float("last.norm.scale", [WIDTH], 0.1)
        self.float("last.modulation.lin", [2, WIDTH], 0.1)
        self.linear("last.linear", 64, WIDTH)

    def float(self, name, shape, spread):
        self.add(name, "BF16", shape, bf16(floats(self.rng, product(shape), spread)))

    def plain(self, name, n, k):
        self.float(name + ".weight", [n, k], k ** -0.5)

    def linear(self, name, n, k):
        self.plain(name, n, k)
        self.float(name + ".bias", [n], 0.02)

    def int8(self, name, n, k):
        group = max(g for g in (4, 16, 64, 256) if k % g == 0)
        self.add(name + ".weight", "I8", [n, k], self.rng.randbytes(n * k))
        self.add(name + ".weight_scale", "F32", [n, 1], f32([k ** -0.5 / 74] * n))
        self.settings(name, {"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": group})

    def int4(self, name, n, k):
        self.add(name + ".weight", "I8", [n, k // 2], self.rng.randbytes(n * k // 2))
        self.add(name + ".weight_scale", "F32", [n], f32([k ** -0.5 / 4.6] * n))
        self.settings(name, {"format": "convrot_w4a4", "convrot_groupsize": 64})

    def settings(self, name, values):
        data = json.dumps(values).encode()
        self.add(name + ".comfy_quant", "U8", [len(data)], data)

    def block(self, name, width, kv_width, mlp, layer, mlp_format):
        for norm in ("prenorm", "postnorm"):
            self.float(name + norm + ".scale", [width], 0.1)
        for part, rows in (("wq", width), ("wk", kv_width), ("wv", kv_width), ("gate", width), ("wo", width)):
            layer(name + "attn." + part, rows, width)
        for norm in ("qnorm", "knorm"):
            self.float(name + "attn.qknorm." + norm + ".scale", [HEAD_DIM], 0.1)
        inner = self.int4 if mlp_format == "int4" else layer
        inner(name + "mlp.gate", mlp, width)
        inner(name + "mlp.up", mlp, width)
        inner(name + "mlp.down", width, mlp)


class FloatKrea2(Krea2):
    def int8(self, name, n, k):
        self.plain(name, n, k)

    def int4(self, name, n, k):
        self.plain(name, n, k)


class WanVae(Safetensors):
    def __init__(self, rng):
        super().__init__()
        self.rng = rng
        a, b, c = VAE_WIDTH, 2 * VAE_WIDTH, 4 * VAE_WIDTH
        self.conv("conv2", 16, 16, (1, 1, 1))
        self.conv("decoder.conv1", c, 16)
        self.residual("decoder.middle.0", c, c)
        self.attention("decoder.middle.1", c)
        self.residual("decoder.middle.2", c, c)
        layers = [(c, c)] * 3 + [(c, b, 3)] + [(b, c)] + [(c, c)] * 2 + [(c, b, 3)] + [(b, b)] * 3 + [(b, a, 2)] + [(a, a)] * 3
        for i, layer in enumerate(layers):
            name = "decoder.upsamples.%d" % i
            if len(layer) == 2:
                self.residual(name, *layer)
                continue
            self.conv(name + ".resample.1", layer[1], layer[0], (3, 3))
            if layer[2] == 3:
                self.conv(name + ".time_conv", 2 * layer[0], layer[0], (3, 1, 1))
        self.gamma("decoder.head.0", [a, 1, 1, 1])
        self.conv("decoder.head.2", 3, a)
        self.encoder(a, b, c)

    def encoder(self, a, b, c):
        self.conv("encoder.conv1", a, 3)
        layers = [(a, a)] * 2 + [(a, a, 2)] + [(a, b), (b, b), (b, b, 3)] + [(b, c), (c, c), (c, c, 3)] + [(c, c)] * 2
        for i, layer in enumerate(layers):
            name = "encoder.downsamples.%d" % i
            if len(layer) == 2:
                self.residual(name, *layer)
                continue
            self.conv(name + ".resample.1", layer[1], layer[0], (3, 3))
            if layer[2] == 3:
                self.conv(name + ".time_conv", layer[0], layer[0], (3, 1, 1))
        self.residual("encoder.middle.0", c, c)
        self.attention("encoder.middle.1", c)
        self.residual("encoder.middle.2", c, c)
        self.gamma("encoder.head.0", [c, 1, 1, 1])
        self.conv("encoder.head.2", 32, c)
        self.conv("conv1", 32, 32, (1, 1, 1))

    def conv(self, name, out, into, kernel=(3, 3, 3)):
        spread = (into * product(kernel[-2:])) ** -0.5
        shape = [out, into, *kernel]
        self.add(name + ".weight", "BF16", shape, bf16(floats(self.rng, product(shape), spread)))
        self.add(name + ".bias", "BF16", [out], bf16(floats(self.rng, out, 0.05)))

    def gamma(self, name, shape):
        self.add(name + ".gamma", "BF16", shape, bf16(floats(self.rng, shape[0], 0.1, 1.0)))

    def residual(self, name, into, out):
        self.gamma(name + ".residual.0", [into, 1, 1, 1])
        self.conv(name + ".residual.2", out, into)
        self.gamma(name + ".residual.3", [out, 1, 1, 1])
        self.conv(name + ".residual.6", out, out)
        if into != out:
            self.conv(name + ".shortcut", out, into, (1, 1, 1))

    def attention(self, name, channels):
        self.gamma(name + ".norm", [channels, 1, 1])
        self.conv(name + ".to_qkv", 3 * channels, channels, (1, 1))
        self.conv(name + ".proj", channels, channels, (1, 1))


def byte_symbols():
    """How byte-level vocabularies print bytes."""
    plain = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    table, extra = {b: chr(b) for b in plain}, 256
    for b in range(256):
        if b not in table:
            table[b] = chr(extra)
            extra += 1
    return table


def vocabulary():
    """Bytes, then the words of the template grown letter by letter, so that each is one token."""
    table = byte_symbols()
    order = [b for b in range(256) if table[b] == chr(b)] + [b for b in range(256) if table[b] != chr(b)]
    tokens, merges = [table[b] for b in order], []
    for line in TEMPLATE.split("\n"):
        for i, word in enumerate(line.replace(",", "").replace(":", "").split(" ")):
            text = "".join(table[b] for b in ((" " if i > 0 else "") + word).encode())
            for end in range(2, len(text) + 1):
                if text[:end] not in tokens:
                    merges.append(text[:end - 1] + " " + text[end - 1])
                    tokens.append(text[:end])
    return tokens + SPECIAL, merges


class Gguf:
    """Version 3, little-endian, aligned to 32."""

    def __init__(self):
        self.pairs, self.tensors = [], []

    @staticmethod
    def string(text):
        data = text.encode()
        return struct.pack("<Q", len(data)) + data

    def pair(self, key, kind, data):
        self.pairs.append(self.string(key) + struct.pack("<i", kind) + data)

    def number(self, key, value):
        self.pair(key, 6 if isinstance(value, float) else 4, struct.pack("<f" if isinstance(value, float) else "<I", value))

    def text(self, key, value):
        self.pair(key, 8, self.string(value))

    def texts(self, key, values):
        self.pair(key, 9, struct.pack("<iQ", 8, len(values)) + b"".join(map(self.string, values)))

    def numbers(self, key, values):
        self.pair(key, 9, struct.pack("<iQ%di" % len(values), 5, len(values), *values))

    def add(self, name, shape, kind, data):
        self.tensors.append((name, shape, kind, data))

    def write(self, path):
        info, offset = b"", 0
        for name, shape, kind, data in self.tensors:
            ne = list(reversed(shape))
            info += self.string(name) + struct.pack("<I%dq" % len(ne), len(ne), *ne) + struct.pack("<iQ", kind, offset)
            offset += len(data) + -len(data) % 32
        head = b"GGUF" + struct.pack("<IqQ", 3, len(self.tensors), len(self.pairs)) + b"".join(self.pairs) + info
        with open(path + ".part", "wb") as file:
            file.write(head + b"\0" * (-len(head) % 32))
            for _, _, _, data in self.tensors:
                file.write(data + b"\0" * (-len(data) % 32))
        os.replace(path + ".part", path)


def text_encoder(rng):
    f32_type, f16_type = 0, 1
    out = Gguf()
    tokens, merges = vocabulary()
    name = "qwen3vl."
    out.text("general.architecture", "qwen3vl")
    out.number(name + "block_count", LLM_LAYERS)
    out.number(name + "embedding_length", TEXT_WIDTH)
    out.number(name + "attention.layer_norm_rms_epsilon", 1e-6)
    out.number(name + "rope.freq_base", 5e6)
    out.text("tokenizer.ggml.model", "gpt2")
    out.text("tokenizer.ggml.pre", "qwen2")
    out.texts("tokenizer.ggml.tokens", tokens)
    out.numbers("tokenizer.ggml.token_type", [3 if t in SPECIAL else 1 for t in tokens])
    out.texts("tokenizer.ggml.merges", merges)

    def matrix(where, rows, columns):
        values = floats(rng, rows * columns, columns ** -0.5)
        out.add(where, [rows, columns], f16_type, struct.pack("<%de" % len(values), *values))

    def norm(where, size):
        out.add(where, [size], f32_type, f32(floats(rng, size, 0.1, 1.0)))

    matrix("token_embd.weight", len(tokens), TEXT_WIDTH)
    for i in range(LLM_LAYERS):
        blk = "blk.%d." % i
        q, kv = LLM_HEADS * HEAD_DIM, LLM_KV_HEADS * HEAD_DIM
        norm(blk + "attn_norm.weight", TEXT_WIDTH)
        for part, rows in (("q", q), ("k", kv), ("v", kv)):
            matrix(blk + "attn_" + part + ".weight", rows, TEXT_WIDTH)
        norm(blk + "attn_q_norm.weight", HEAD_DIM)
        norm(blk + "attn_k_norm.weight", HEAD_DIM)
        matrix(blk + "attn_output.weight", TEXT_WIDTH, q)
        norm(blk + "ffn_norm.weight", TEXT_WIDTH)
        matrix(blk + "ffn_gate.weight", LLM_MLP, TEXT_WIDTH)
        matrix(blk + "ffn_up.weight", LLM_MLP, TEXT_WIDTH)
        matrix(blk + "ffn_down.weight", TEXT_WIDTH, LLM_MLP)
    norm("output_norm.weight", TEXT_WIDTH)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR")
    folder = parser.parse_args().folder
    os.makedirs(folder, exist_ok=True)
    metadata = {"description": "random weights, for trying programs"}
    Krea2(random.Random(1)).write(os.path.join(folder, "tiny-krea2-int8-convrot.safetensors"), metadata)
    FloatKrea2(random.Random(1)).write(os.path.join(folder, "tiny-krea2-bf16.safetensors"), metadata)
    text_encoder(random.Random(2)).write(os.path.join(folder, "tiny-qwen3-vl.gguf"))
    WanVae(random.Random(3)).write(os.path.join(folder, "tiny-wan-vae.safetensors"), metadata)
    return 0


if __name__ == "__main__":
    sys.exit(main())
