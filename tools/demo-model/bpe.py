"""A small byte-level BPE vocabulary that reads text by the rules of the Qwen2 tokenizer."""
import collections
import json
import re

# Python's expressions know no \p{L}: a letter is what is a word character, no digit and no underscore.
PIECE = re.compile(r"""'(?i:s|t|re|ve|m|ll|d)|(?:[^\r\n\w]|_)?[^\W\d_]+|\d| ?(?:[^\s\w]|_)+[\r\n]*|\s*[\r\n]+"""
                   r"""|\s+(?!\S)|\s+""")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
BEFORE = ("<|im_start|>system\nDescribe the image by detailing the color, shape, size, texture, quantity, text, spatial "
          "relationships of the objects and background:<|im_end|>\n<|im_start|>user\n")
AFTER = "<|im_end|>\n<|im_start|>assistant\n"
PREFIX, SUFFIX = 34, 5  # tokens of BEFORE and AFTER: engines drop the first 34
SURE = 1 << 30  # weight of words that must become one token each


def byte_symbols():
    """Byte -> the character vocabularies write for it, in the order of ids."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    return {**{byte: chr(byte) for byte in plain}, **{byte: chr(256 + i) for i, byte in enumerate(rest)}}


def joined(parts, pair):
    """parts with every occurrence of the pair, from the left, made one."""
    out, i = [], 0
    while i < len(parts):
        if parts[i:i + 2] == pair:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return tuple(out)


class Bpe:
    def __init__(self, merges):
        self.merges = [tuple(merge) for merge in merges]
        self.symbols = byte_symbols()
        self.tokens = [*self.symbols.values(), *("".join(merge) for merge in self.merges), *SPECIAL]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.ranks = {merge: i for i, merge in enumerate(self.merges)}
        self.known = {}

    def word(self, piece):
        if piece not in self.known:
            parts = tuple(self.symbols[byte] for byte in piece.encode())
            while len(parts) > 1:
                pair = min(zip(parts, parts[1:]), key=lambda p: self.ranks.get(p, len(self.ranks)))
                if pair not in self.ranks:
                    break
                parts = joined(parts, pair)
            self.known[piece] = [self.ids[part] for part in parts]
        return self.known[piece]

    def encode(self, text):
        out = []
        for part in re.split("(%s)" % "|".join(map(re.escape, SPECIAL)), text):
            if part in SPECIAL:
                out.append(self.ids[part])
            else:
                out += [token for piece in PIECE.findall(part) for token in self.word(piece)]
        return out

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.merges, file)

    @staticmethod
    def load(path):
        with open(path, encoding="utf-8") as file:
            return Bpe(json.load(file))


def learn(texts, count):
    """texts: text -> weight. The template's words become one token each, then `count` more merges are learned."""
    symbols, words = byte_symbols(), collections.Counter()
    for text, weight in texts.items():
        for piece in PIECE.findall(text):
            words[tuple(symbols[byte] for byte in piece.encode())] += weight
    for part in re.split("|".join(map(re.escape, SPECIAL)), BEFORE + AFTER):
        for piece in PIECE.findall(part):
            words[tuple(symbols[byte] for byte in piece.encode())] += SURE
    merges, learned = [], 0
    while learned < count:
        pairs = collections.Counter()
        for word, weight in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += weight
        if not pairs:
            break
        # The text decides among equals, so that the same merges are learned everywhere.
        pair = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(pair)
        learned += pairs[pair] < SURE
        merged = collections.Counter()
        for word, weight in words.items():
            merged[joined(word, pair)] += weight
        words = merged
    made = Bpe(merges)
    if len(made.encode(BEFORE)) != PREFIX or len(made.encode(AFTER)) != SUFFIX:
        raise AssertionError("the template does not have the tokens it must have")
    return made
