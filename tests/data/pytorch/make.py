#!/usr/bin/env python3
"""Writes the .pt and .ckpt files beside this script with Python's own pickle and zipfile modules.

torch itself is not needed: stand-ins under its names make pickle write the same bytes as torch.save. Every file holds

    layer.weight  float32 [2, 3]   0.0, 0.5, 1.0, 1.5, 2.0, 2.5
    layer.bias    float16 [3]      1.0, 2.0, 3.0
    tied.weight   float32 [3, 2]   layer.weight transposed, in the same storage
    steps         int64   []       7
"""
import collections
import io
import pathlib
import pickle
import struct
import sys
import types
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def module(name):
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]


def stand_in(name, kind):
    """A function or class that pickle finds under this full name."""
    where, short = name.rsplit(".", 1)
    if kind == "function":
        def thing(*_args):
            raise AssertionError("nothing is loaded here")
    else:
        thing = type(short, (), {})
    thing.__module__, thing.__name__, thing.__qualname__ = where, short, short
    setattr(sys.modules[where], short, thing)
    return thing


for name in ("torch", "torch._utils", "torch.storage", "pytorch_lightning", "pytorch_lightning.callbacks"):
    module(name)
REBUILD2 = stand_in("torch._utils._rebuild_tensor_v2", "function")
REBUILD3 = stand_in("torch._utils._rebuild_tensor_v3", "function")
PARAMETER = stand_in("torch._utils._rebuild_parameter", "function")
CLASSES = {name: stand_in("torch." + name, "class") for name in ("FloatStorage", "HalfStorage", "LongStorage")}
UNTYPED = stand_in("torch.storage.UntypedStorage", "class")
CHECKPOINT = stand_in("pytorch_lightning.callbacks.ModelCheckpoint", "class")


class Dtype:
    """Pickled as the global torch.NAME, as torch's types are."""

    def __init__(self, name):
        self.name = name
        self.__module__ = "torch"
        setattr(sys.modules["torch"], name, self)

    def __reduce__(self):
        return self.name


class Storage:
    def __init__(self, key, kind, code, values):
        self.key, self.kind = key, kind
        self.elements = len(values)
        self.bytes = struct.pack(f"<{len(values)}{code}", *values)


class Tensor:
    def __init__(self, storage, offset, size, stride, dtype=None):
        self.storage, self.dtype = storage, dtype
        self.place = offset, size, stride

    def __reduce_ex__(self, protocol):
        args = (self.storage, *self.place, False, collections.OrderedDict())
        return (REBUILD2, args) if self.dtype is None else (REBUILD3, args + (self.dtype,))


class Parameter(Tensor):
    def __reduce_ex__(self, protocol):
        return PARAMETER, (Tensor(self.storage, *self.place), True, collections.OrderedDict())


class Pickler(pickle.Pickler):
    def __init__(self, out, protocol, legacy):
        super().__init__(out, protocol)
        self.legacy = legacy

    def persistent_id(self, obj):
        if not isinstance(obj, Storage):
            return None
        pid = "storage", obj.kind, obj.key, "cpu", obj.elements
        return pid + (None,) if self.legacy else pid


def pickled(obj, protocol=2, legacy=False):
    out = io.BytesIO()
    Pickler(out, protocol, legacy).dump(obj)
    return out.getvalue()


STORAGES = [Storage("0", CLASSES["FloatStorage"], "f", [0, .5, 1, 1.5, 2, 2.5]),
            Storage("1", CLASSES["HalfStorage"], "e", [1, 2, 3]),
            Storage("2", CLASSES["LongStorage"], "q", [7])]


def state_dict(kind=Tensor):
    weight, bias, steps = STORAGES
    out = collections.OrderedDict()
    out["layer.weight"] = kind(weight, 0, (2, 3), (3, 1))
    out["layer.bias"] = kind(bias, 0, (3,), (1,))
    out["tied.weight"] = kind(weight, 0, (3, 2), (1, 3))
    out["steps"] = Tensor(steps, 0, (), ())
    out._metadata = collections.OrderedDict({"": {"version": 1}, "layer": {"version": 1}})
    return out


def write_zip(name, data_pkl, storages, extras):
    """extras: with torch's padding in front of storages, which aligns them to 64 bytes."""
    with zipfile.ZipFile(HERE / name, "w", zipfile.ZIP_STORED) as archive:
        def add(entry, data, align=False):
            info = zipfile.ZipInfo("archive/" + entry, (1980, 1, 1, 0, 0, 0))
            if align:
                # 20 bytes are zipfile's own wide sizes.
                start = archive.fp.tell() + 30 + len(info.filename) + 20 + 4
                pad = -start % 64
                info.extra = struct.pack("<2sH", b"FB", pad) + b"Z" * pad
            with archive.open(info, "w", force_zip64=align) as out:
                out.write(data)

        add("data.pkl", data_pkl)
        if extras:
            add(".format_version", b"1")
            add(".storage_alignment", b"64")
        add("byteorder", b"little")
        for storage in storages:
            add("data/" + storage.key, storage.bytes, align=extras)
        add("version", b"3\n")


def write_legacy(name, obj):
    with open(HERE / name, "wb") as out:
        out.write(pickle.dumps(0x1950a86a20f9469cfc6c, 2))
        out.write(pickle.dumps(1001, 2))
        sizes = {"short": 2, "int": 4, "long": 4}
        out.write(pickle.dumps({"protocol_version": 1001, "little_endian": True, "type_sizes": sizes}, 2))
        out.write(pickled(obj, legacy=True))
        out.write(pickle.dumps([s.key for s in STORAGES], 2))
        for storage in STORAGES:
            out.write(struct.pack("<q", storage.elements) + storage.bytes)


def main():
    write_zip("plain.pt", pickled(state_dict()), STORAGES, extras=False)
    write_zip("aligned.pt", pickled(state_dict()), STORAGES, extras=True)
    write_zip("protocol4.pt", pickled(state_dict(), protocol=4), STORAGES, extras=False)
    write_zip("parameters.pt", pickled(state_dict(Parameter)), STORAGES, extras=False)
    write_legacy("legacy.pt", state_dict())

    callback = CHECKPOINT()
    callback.best, callback.monitor = 0.25, "val/loss"
    training = {"epoch": 3, "global_step": 900, "state_dict": state_dict(), "callbacks": {"best": callback},
                "optimizer_states": [{"state": {0: {"exp_avg": Tensor(STORAGES[0], 0, (2, 3), (3, 1))}},
                                      "param_groups": [{"lr": 1e-4, "betas": (0.9, 0.999), "params": [0]}]}],
                "hyper_parameters": {"dims": [2, 3], "names": {"a"}, "seed": 1 << 70}}
    write_zip("training.ckpt", pickled(training), STORAGES, extras=False)

    f8 = Storage("0", UNTYPED, "B", list(range(0x30, 0x3a)))
    float8 = collections.OrderedDict(
        weight=Tensor(f8, 2, (2, 4), (4, 1), Dtype("float8_e4m3fn")), scale=Tensor(STORAGES[1], 1, (1,), (1,)))
    write_zip("float8.pt", pickled(float8), [f8, STORAGES[1]], extras=False)


main()
