"""Writers of safetensors and GGUF files."""
import json
import os
import struct

import numpy as np

ALIGNMENT = 32
U32, I32, F32_VALUE, STRING, ARRAY = 4, 5, 6, 8, 9  # kinds of values in a GGUF
F32, F16, Q8_0 = 0, 1, 8                            # kinds of tensors in a GGUF


def to_bf16(values):
    """The upper halves of floats, rounded to nearest, ties to even."""
    words = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((words + 0x7FFF + (words >> 16 & 1)) >> 16).astype("<u2")


def to_q8_0(values):
    """Blocks of 32: a half-precision scale, then signed bytes."""
    blocks = np.ascontiguousarray(values, np.float32).reshape(-1, 32)
    scale = np.abs(blocks).max(1, keepdims=True) / 127
    bytes_ = np.rint(blocks / np.where(scale > 0, scale, 1)).astype(np.int8)
    return np.concatenate([scale.astype("<f2").view(np.uint8), bytes_.view(np.uint8)], 1).tobytes()


class Safetensors:
    def __init__(self):
        self.tensors = []

    def raw(self, name, dtype, shape, data):
        self.tensors.append((name, dtype, [int(size) for size in shape], data))

    def add(self, name, values, dtype):
        """dtype: F32, F16 or BF16."""
        values = np.asarray(values, np.float32)
        data = {"F32": lambda: values.astype("<f4"), "F16": lambda: values.astype("<f2"), "BF16": lambda: to_bf16(values)}
        self.raw(name, dtype, values.shape, data[dtype]().tobytes())

    def write(self, path, metadata):
        header, offset = {"__metadata__": metadata}, 0
        for name, dtype, shape, data in self.tensors:
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            offset += len(data)
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path + ".part", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, _, _, data in self.tensors:
                file.write(data)
        os.replace(path + ".part", path)


class Gguf:
    """Version 3, little-endian."""

    def __init__(self):
        self.pairs, self.tensors = [], []

    @staticmethod
    def string(text):
        data = text.encode()
        return struct.pack("<Q", len(data)) + data

    def pair(self, key, value):
        if isinstance(value, str):
            kind, data = STRING, self.string(value)
        elif isinstance(value, float):
            kind, data = F32_VALUE, struct.pack("<f", value)
        elif isinstance(value, int):
            kind, data = U32, struct.pack("<I", value)
        elif isinstance(value[0], str):
            kind, data = ARRAY, struct.pack("<iQ", STRING, len(value)) + b"".join(map(self.string, value))
        else:
            kind, data = ARRAY, struct.pack("<iQ%di" % len(value), I32, len(value), *value)
        self.pairs.append(self.string(key) + struct.pack("<i", kind) + data)

    def add(self, name, values, kind):
        values = np.asarray(values, np.float32)
        data = {F32: lambda: values.astype("<f4").tobytes(), F16: lambda: values.astype("<f2").tobytes(),
                Q8_0: lambda: to_q8_0(values)}
        self.tensors.append((name, values.shape, kind, data[kind]()))

    def write(self, path):
        info, offset = b"", 0
        for name, shape, kind, data in self.tensors:
            info += self.string(name) + struct.pack("<I%dq" % len(shape), len(shape), *reversed(shape))
            info += struct.pack("<iQ", kind, offset)
            offset += len(data) + -len(data) % ALIGNMENT
        head = b"GGUF" + struct.pack("<IqQ", 3, len(self.tensors), len(self.pairs)) + b"".join(self.pairs) + info
        with open(path + ".part", "wb") as file:
            file.write(head + b"\0" * (-len(head) % ALIGNMENT))
            for _, _, _, data in self.tensors:
                file.write(data + b"\0" * (-len(data) % ALIGNMENT))
        os.replace(path + ".part", path)
