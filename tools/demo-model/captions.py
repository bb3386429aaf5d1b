"""What is said about a picture: its name, alone or with an article, a lead-in or keywords, and sometimes nothing."""
import random

LEADS = ["an emoji of ", "a picture of ", "emoji of ", "icon of "]
SILENT = 0.1  # of all captions are empty, so that guidance has something to guide away from
LONG = 0.2    # of the others have keywords


def with_article(name):
    if name.endswith("s") or name[0].isupper():
        return name
    return ("an " if name[0] in "aeiou" else "a ") + name


def short(rng, name):
    """A name in one of the forms people type."""
    kind = rng.random()
    if kind < 0.6:
        return name
    if kind < 0.75:
        return with_article(name)
    if kind < 0.85:
        return name[0].upper() + name[1:]
    return rng.choice(LEADS) + (with_article(name) if rng.random() < 0.5 else name)


def long(rng, name, keywords):
    """A name with keywords; or keywords alone, where there are enough to tell the picture. A list, to be joined."""
    some = rng.sample(keywords, min(len(keywords), rng.randint(1, 3)))
    if len(some) > 1 and rng.random() < 0.3:
        return some
    return [short(rng, name), *some]


def corpus(names, keywords):
    """text -> weight, for learning a vocabulary: names as a first word and after others. names: lists of synonyms."""
    out = {}

    def add(text, weight):
        out[text] = out.get(text, 0) + weight

    for synonyms, more in zip(names, keywords):
        for name in synonyms:
            add(name, 4)
            add(with_article(name), 4)
            add(name[0].upper() + name[1:], 1)
        for word in more:
            add(", " + word, 1)
    for lead in LEADS:
        add(lead + "a", 20)
    return out


class Captions:
    """Draws captions as token ids; names: a list of synonyms for each picture."""

    def __init__(self, bpe, names, keywords):
        self.bpe, self.names, self.keywords = bpe, names, keywords

    def draw(self, rng, which, places):
        """Token lists of at most `places` for the pictures `which`; keywords there is no place for are left out."""
        out = []
        for i in which:
            if rng.random() < SILENT:
                out.append([])
                continue
            name = rng.choice(self.names[i])
            parts = long(rng, name, self.keywords[i]) if rng.random() < LONG else [short(rng, name)]
            ids = self.bpe.encode(", ".join(parts))
            while len(ids) > places and len(parts) > 1:
                parts.pop()
                ids = self.bpe.encode(", ".join(parts))
            out.append(ids if len(ids) <= places else self.bpe.encode(name)[:places])
        return out


def rng_of(generator):
    """Python's random numbers, seeded by a torch generator."""
    return random.Random(generator.initial_seed())
