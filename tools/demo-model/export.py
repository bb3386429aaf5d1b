#!/usr/bin/env python3
"""Writes a trained model in the formats real ones are downloaded in:

  demo-krea2-f16.safetensors  diffusion transformer, to be quantized by sd-cli -M quantize
  demo-qwen3-vl-q8_0.gguf     text encoder with its vocabulary
  demo-wan-vae.safetensors    VAE
"""
import argparse
import os

import torch

import bpe
import containers
import dit
import emoji
import evaluate
import text
import vae

# Defaults for programs that look for them, in the safetensors metadata of the diffusion transformer.
DEFAULTS = {"generation.width": str(emoji.SIDE), "generation.height": str(emoji.SIDE), "generation.steps": "8",
            "generation.cfg_scale": "3", "generation.sampling_method": "euler", "generation.scheduler": "discrete"}
ABOUT = {"modelspec.title": "convrot.cpp demo", "modelspec.resolution": "%dx%d" % (emoji.SIDE, emoji.SIDE),
         "modelspec.description": "Draws small pictures like those of the Noto Color Emoji font it was trained on.",
         "modelspec.license": "see the model card"}


def write_dit(model, path):
    out = containers.Safetensors()
    for name, value in dit.exported(model).items():
        out.add(name, value.numpy(), "F16")
    out.write(path, {**DEFAULTS, **ABOUT})


def write_text(encoder, vocabulary, path):
    out, name, layer = containers.Gguf(), "qwen3vl.", encoder.layers[0]
    out.pair("general.architecture", "qwen3vl")
    out.pair("general.name", ABOUT["modelspec.title"])
    out.pair(name + "block_count", len(encoder.layers))
    out.pair(name + "context_length", 8192)
    out.pair(name + "embedding_length", encoder.embedding.embedding_dim)
    out.pair(name + "feed_forward_length", layer.down.in_features)
    out.pair(name + "attention.head_count", layer.heads)
    out.pair(name + "attention.head_count_kv", layer.kv_heads)
    out.pair(name + "attention.key_length", layer.head)
    out.pair(name + "attention.value_length", layer.head)
    out.pair(name + "attention.layer_norm_rms_epsilon", text.EPS)
    out.pair(name + "rope.freq_base", text.THETA)
    out.pair("tokenizer.ggml.model", "gpt2")
    out.pair("tokenizer.ggml.pre", "qwen2")
    out.pair("tokenizer.ggml.tokens", vocabulary.tokens)
    out.pair("tokenizer.ggml.token_type", [3 if token in bpe.SPECIAL else 1 for token in vocabulary.tokens])
    out.pair("tokenizer.ggml.merges", [" ".join(merge) for merge in vocabulary.merges])
    out.pair("tokenizer.ggml.eos_token_id", vocabulary.ids[bpe.SPECIAL[2]])
    out.pair("tokenizer.ggml.padding_token_id", vocabulary.ids[bpe.SPECIAL[0]])
    for tensor, value in text.exported(encoder).items():
        kind = containers.Q8_0 if value.dim() == 2 else containers.F32
        out.add(tensor, value.numpy(), kind)
    out.write(path)


def write_vae(module, path):
    out = containers.Safetensors()
    for name, value in vae.true_layout(module).items():
        out.add(name, value.numpy(), "F16")
    out.write(path, ABOUT)


def write_all(model, decoder, folder):
    os.makedirs(folder, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)

    with torch.no_grad():
        write_dit(model.dit, path("demo-krea2-f16.safetensors"))
        write_text(model.text, model.vocabulary, path("demo-qwen3-vl-q8_0.gguf"))
        write_vae(decoder, path("demo-wan-vae.safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("state")
    parser.add_argument("folder", help="where the files are written")
    a = parser.parse_args()
    write_all(evaluate.load_model(a.state)[0], evaluate.load_vae(a.state)[0], a.folder)
    for name in sorted(os.listdir(a.folder)):
        print("%10d  %s" % (os.path.getsize(os.path.join(a.folder, name)), name))


if __name__ == "__main__":
    main()
