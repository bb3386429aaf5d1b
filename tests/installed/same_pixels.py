#!/usr/bin/env python3
"""same_pixels.py PNG PPM: whether two pictures are the same. The PNG is 8-bit RGB, not interlaced."""
import struct
import sys
import zlib


def png_rows(data):
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2), "not an 8-bit RGB picture"
    packed, at = b"", 8
    while at < len(data):
        length, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += 12 + length
    raw, stride, above, out = zlib.decompress(packed), width * 3, bytes(width * 3), b""
    for y in range(height):
        row = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        unfilter(raw[y * (stride + 1)], row, above)
        above = bytes(row)
        out += above
    return width, height, out


def unfilter(kind, row, above):
    for i in range(len(row)):
        left, up = (row[i - 3] if i >= 3 else 0), above[i]
        corner = above[i - 3] if i >= 3 else 0
        distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
        nearest = (left, up, corner)[distances.index(min(distances))]
        row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255


def main():
    with open(sys.argv[1], "rb") as handle:
        width, height, pixels = png_rows(handle.read())
    with open(sys.argv[2], "rb") as handle:
        other = handle.read()
    same = other == b"P6\n%d %d\n255\n" % (width, height) + pixels
    if not same:
        print(f"{sys.argv[1]} and {sys.argv[2]} differ", file=sys.stderr)
    return 0 if same else 1


sys.exit(main())
