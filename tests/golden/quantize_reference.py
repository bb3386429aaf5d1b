#!/usr/bin/env python3
"""quantize_reference.py SD_CLI ORACLE WORK: files of sd-cli -M quantize against the numpy reference of the formats.

Layers are random; the reference rotates in double precision and reads what was written with its own loader. Codes may
differ by one where a quotient lies within the rounding of a float32 rotation from a tie, and nowhere else.
"""
import importlib.util
import json
import os
import subprocess
import sys
import unittest

import numpy as np

PROGRAM, ORACLE, WORK = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("convrot_reference", ORACLE)
reference = importlib.util.module_from_spec(spec)
sys.modules["convrot_reference"] = reference
spec.loader.exec_module(reference)

SHAPES = {"a": (48, 1024, "BF16"), "b": (31, 192, "F32"), "c": (7, 48, "F16"), "d": (64, 6144, "BF16"),
          "e": (200, 256, "F32")}
GROUPS = {"a": 256, "b": 64, "c": 16, "d": 256, "e": 256}


def path(name):
    return os.path.join(WORK, name)


class Written(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(WORK, exist_ok=True)
        rng = np.random.Generator(np.random.PCG64(2026))
        tensors = {}
        for name, (n, k, dtype) in SHAPES.items():
            weight = reference.tensor(reference.random_weight(rng, n, k), dtype)
            tensors[name + ".weight"] = weight
            tensors[name + ".bias"] = reference.tensor(rng.standard_normal(n).astype(np.float32), dtype)
        reference.write_safetensors(path("in.safetensors"), tensors, {"format": "pt", "note": "random"})
        cls.weights = {name: tensors[name + ".weight"].to_float().astype(np.float32) for name in SHAPES}
        cls.inputs = tensors

    def written(self, form, *options):
        out = path(form + ".safetensors")
        command = [PROGRAM, "-M", "quantize", "-m", path("in.safetensors"), "-o", out, "--format", form, "--force",
                   "--verify", "--report", path(form + ".json"), *options]
        done = subprocess.run(command, capture_output=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        tensors, metadata = reference.read_safetensors(out)
        with open(path(form + ".json"), encoding="utf-8") as handle:
            report = {layer["name"]: layer for layer in json.load(handle)["layers"]}
        self.assertEqual({k: v for k, v in metadata.items() if k[0] != "_"}, {"format": "pt", "note": "random"})
        layers = reference.load_layers(tensors, metadata)
        self.assertEqual(sorted(layers), sorted(SHAPES))
        for name, layer in layers.items():
            weight = self.weights[name].astype(np.float64)
            error = np.linalg.norm(layer.dequantize() - weight) / np.linalg.norm(weight)
            self.assertAlmostEqual(report[name]["error"] / error, 1, delta=1e-4, msg=name)
            self.assertAlmostEqual(report[name]["verified_error"] / error, 1, delta=1e-3, msg=name)
            bias = tensors[name + ".bias"]
            self.assertEqual(bias.dtype, SHAPES[name][2])
            self.assertEqual(bias.data.tobytes(), self.inputs[name + ".bias"].data.tobytes())
        return tensors

    def expect_codes(self, name, codes, scale, limit, group, floor):
        """The formula in double precision; differences only at ties, within the bound of a float32 rotation."""
        weight = self.weights[name]
        rotated = reference.rotate(weight, group)
        largest = np.maximum(np.abs(rotated).max(-1), floor * limit)
        np.testing.assert_allclose(scale.reshape(-1), largest / limit, rtol=8 * 2.0**-24)
        quotient = rotated / scale.reshape(-1, 1).astype(np.float64)
        expected = np.clip(np.rint(quotient), -limit, limit)
        bound = reference.rotation_error_bound(weight, group) / scale.reshape(-1, 1) + np.abs(quotient).reshape(
            weight.shape[0], -1, max(group, 1)).max(-1) * 2.0**-23
        near = np.abs(np.abs(quotient - np.trunc(quotient)) - 0.5) <= np.repeat(bound, max(group, 1), axis=-1)
        wrong = codes != expected
        self.assertFalse((wrong & ~near).any(), name)
        self.assertLessEqual(np.abs(codes - expected).max(), 1, name)
        self.assertLessEqual(wrong.mean(), 1e-4, name)

    def test_int8(self):
        tensors = self.written("int8")
        for name in SHAPES:
            codes, scale = reference.quantize_weight_int8(self.weights[name])
            self.assertEqual(tensors[name + ".weight"].data.tobytes(), codes.tobytes(), name)
            self.assertEqual(tensors[name + ".weight_scale"].data.tobytes(), scale.tobytes(), name)

    def test_int8_convrot(self):
        tensors = self.written("int8-convrot")
        same = 0
        for name, group in GROUPS.items():
            codes, scale = tensors[name + ".weight"].data, tensors[name + ".weight_scale"].data
            self.expect_codes(name, codes.astype(int), scale, 127, group, 1e-30)
            same += (codes == reference.quantize_weight_int8(self.weights[name], group)[0]).mean()
        self.assertGreater(same / len(GROUPS), 0.9999)

    def test_w4a4(self):
        tensors = self.written("w4a4")
        for name, group in GROUPS.items():
            codes = reference.unpack_signed(tensors[name + ".weight"].data)
            self.expect_codes(name, codes, tensors[name + ".weight_scale"].data, 7, group, 1e-10 / 7)

    def test_w4a8(self):
        tensors = self.written("w4a8", "--header-settings")
        for name, group in GROUPS.items():
            book = tensors[name + ".weight_codebook"].data
            expected = reference.quantize_weight_w4a8(self.weights[name], group, codebook=book)
            ours = reference.unpack_unsigned(tensors[name + ".weight"].data)
            self.assertGreaterEqual((ours == reference.unpack_unsigned(expected["packed"])).mean(), 0.999, name)
            self.assertGreaterEqual((tensors[name + ".weight_s_rel"].data == expected["s_rel"]).mean(), 0.999, name)
            np.testing.assert_allclose(tensors[name + ".weight_s_channel"].data, expected["s_channel"], rtol=1e-5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], warnings="ignore")  # of the reference's open files
