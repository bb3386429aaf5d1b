"""Reads PNG files for tests that look at pictures, with nothing but Python's own library."""
import struct
import zlib


def read(path):
    """Width, height, channels and bytes, rows from the top, of an 8-bit PNG that is not interlaced."""
    with open(path, "rb") as file:
        data = file.read()
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and data[28] == 0, path
    channels, at, packed = {0: 1, 2: 3, 4: 2, 6: 4}[color], 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * channels
    above, rows = bytes(stride), []
    for begin in range(0, height * (stride + 1), stride + 1):
        row = bytearray(raw[begin + 1:begin + 1 + stride])
        undo(raw[begin], row, above, channels)
        above = bytes(row)
        rows.append(above)
    return width, height, channels, b"".join(rows)


def undo(kind, row, above, channels):
    """One of the five filters of the PNG specification, chapter 9."""
    for i in range(len(row)):
        left, up = (row[i - channels] if i >= channels else 0), above[i]
        corner = above[i - channels] if i >= channels else 0
        distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
        nearest = (left, up, corner)[distances.index(min(distances))]
        row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
