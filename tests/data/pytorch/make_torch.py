#!/usr/bin/env python3
"""Writes the torch-*.pt and torch-*.ckpt files beside this script with PyTorch itself (those here: version 2.8.0).

They hold the same four tensors as those of make.py, which needs no PyTorch. Run it with any version and compare what the
engine reads; files of another version get its number in their names.
"""
import collections
import pathlib

import torch

HERE = pathlib.Path(__file__).resolve().parent
NAME = "torch-" + ".".join(torch.__version__.split("+")[0].split(".")[:2])


def state_dict():
    weight = torch.tensor([[0, 0.5, 1], [1.5, 2, 2.5]])
    return collections.OrderedDict([
        ("layer.weight", weight),
        ("layer.bias", torch.tensor([1, 2, 3], dtype=torch.float16)),
        ("tied.weight", weight.t()),
        ("steps", torch.tensor(7)),
    ])


def main():
    torch.save(state_dict(), HERE / f"{NAME}.pt")
    torch.save(state_dict(), HERE / f"{NAME}-legacy.pt", _use_new_zipfile_serialization=False)
    parameters = [torch.nn.Parameter(torch.ones(2, 2))]
    optimizer = torch.optim.AdamW(parameters)
    parameters[0].sum().backward()
    optimizer.step()
    torch.save({"epoch": 3, "state_dict": state_dict(), "optimizer": optimizer.state_dict(), "rng": torch.get_rng_state()[:8],
                "dtype": torch.bfloat16, "device": torch.device("cpu")}, HERE / f"{NAME}-training.ckpt")


main()
