"""The training set: pictures of a colour emoji font, with names and keywords from Unicode's data.

Pictures come from the font's bitmap table, so nothing is rendered and every machine gets the same pixels. Only emoji of
one code point are taken: sequences would need the font's ligatures.
"""
import io
import os
import xml.etree.ElementTree
from dataclasses import dataclass

import numpy as np
from fontTools.ttLib import TTFont
from PIL import Image

SIDE = 64       # pixels of a picture
INNER = 60      # pixels of the font's bitmap inside, so that convolutions see the background around it
VARIATION = 0xFE0F  # "show as emoji": says nothing about the picture

# Where Debian's packages fonts-noto-color-emoji, unicode-data and unicode-cldr-core put their files.
FONT = "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf"
NAMES = "/usr/share/unicode/emoji/emoji-test.txt"
KEYWORDS = "/usr/share/unicode/cldr/common/annotations/en.xml"

# Subgroups of NAMES that are learned whole. People, hands, flags, clock faces, letters and traffic signs are left out:
# they differ by details that 64 pixels and a small model do not hold, or are read rather than looked at.
WHOLE = """heart face-costume animal-mammal animal-bird animal-amphibian animal-reptile animal-marine animal-bug
plant-flower plant-other food-fruit food-vegetable food-prepared food-asian food-marine food-sweet drink dishware
place-geographic place-other event
award-medal sport game musical-instrument tool science""".split()

# Single ones of other subgroups: those a word brings to mind.
SINGLE = """grinning face;winking face;upside-down face;smiling face with halo;smiling face with heart-eyes;star-struck;
money-mouth face;zipper-mouth face;neutral face;sleeping face;face with medical mask;nauseated face;hot face;cold face;
exploding head;cowboy hat face;smiling face with sunglasses;nerd face;face with monocle;crying face;face with open mouth;
enraged face;smiling face with horns;skull;skull and crossbones;pouting cat;see-no-evil monkey;kiss mark;collision;hole;
speech balloon;thought balloon;sweat droplets;globe showing Americas;world map;compass;luggage;bellhop bell;
hourglass done;watch;alarm clock;stopwatch;mantelpiece clock;three o’clock;full moon;new moon;crescent moon;
first quarter moon;thermometer;sun;sun with face;ringed planet;star;cloud;sun behind cloud;cloud with lightning;
cloud with rain;cloud with snow;tornado;cyclone;rainbow;umbrella;umbrella on ground;high voltage;snowflake;snowman;comet;
fire;droplet;water wave;artist palette;framed picture;thread;yarn;knot;glasses;sunglasses;goggles;lab coat;safety vest;
necktie;t-shirt;jeans;scarf;gloves;coat;socks;dress;kimono;bikini;handbag;shopping bags;backpack;running shoe;
high-heeled shoe;hiking boot;crown;top hat;graduation cap;billed cap;military helmet;lipstick;ring;gem stone;loudspeaker;
megaphone;bell;musical notes;microphone;headphone;radio;mobile phone;telephone;battery;electric plug;laptop;
desktop computer;printer;keyboard;computer mouse;floppy disk;optical disk;abacus;movie camera;clapper board;television;
camera;magnifying glass tilted left;candle;light bulb;flashlight;red paper lantern;closed book;open book;green book;
blue book;books;scroll;newspaper;bookmark;label;money bag;coin;dollar banknote;money with wings;credit card;envelope;
package;postbox;pencil;fountain pen;paintbrush;crayon;memo;briefcase;file folder;calendar;bar chart;clipboard;pushpin;
paperclip;triangular ruler;scissors;wastebasket;locked;key;old key;syringe;drop of blood;pill;adhesive bandage;
stethoscope;door;mirror;window;bed;couch and lamp;chair;toilet;bathtub;mouse trap;razor;safety pin;broom;basket;
roll of paper;bucket;soap;toothbrush;sponge;fire extinguisher;shopping cart;coffin;headstone;nazar amulet;moai;placard;
warning;no entry;radioactive;biohazard;peace symbol;yin yang;star of David;infinity;check mark;cross mark;
red question mark;red exclamation mark;recycling symbol;red circle;orange circle;yellow circle;green circle;blue circle;
purple circle;brown circle;black circle;white circle;red square;orange square;yellow square;green square;blue square;
purple square;brown square;black large square;white large square;large orange diamond;large blue diamond;
red triangle pointed up;chequered flag;triangular flag;black flag;white flag;brain;anatomical heart;lungs;tooth;bone;
eyes;mouth;footprints;thumbs up;thumbs down;waving hand;flexed biceps;ear;nose;foot;stadium;classical building;brick;rock;
wood;hut;house;office building;hospital;factory;school;Japanese castle;castle;Tokyo tower;Statue of Liberty;church;mosque;
shinto shrine;kaaba;locomotive;bullet train;tram;bus;ambulance;fire engine;police car;taxi;automobile;pickup truck;
delivery truck;tractor;racing car;motorcycle;motor scooter;bicycle;kick scooter;skateboard;roller skate;railway track;
fuel pump;wheel;police car light;vertical traffic light;stop sign;construction;anchor;ring buoy;sailboat;canoe;speedboat;
ship;airplane;parachute;seat;helicopter;mountain cableway;satellite;rocket;flying saucer""".replace("\n", "").split(";")

# Of the subgroups taken whole: hardly told apart from another at this size, or seldom asked for.
LEFT_OUT = """heart decoration;growing heart;beating heart;heart exclamation;alien monster;goblin;guide dog;ox;water buffalo;
bison;boar;ewe;two-hump camel;rat;badger;front-facing baby chick;dodo;turkey;cricket;cockroach;fly;microbe;rosette;
wilted flower;lotus;hyacinth;pine decoration;carp streamer;wind chime;moon viewing ceremony;tanabata tree;Japanese dolls;
reminder ribbon;admission tickets;sports medal;military medal;softball;rugby football;cricket game;field hockey;lacrosse;
martial arts uniform;running shirt;skis;curling stone;nesting dolls;mahjong red dragon;flower playing cards;oden;
fish cake with swirl;moon cake;dango;rice cracker;curry rice;stuffed flatbread;flatbread;tamale;falafel;shallow pan of food;
fondue;butter;custard;shaved ice;pouring liquid;mate;sake;teacup without handle;clinking beer mugs;empty nest;
leaf fluttering in wind;fallen leaf;sheaf of rice;mount fuji;national park;desert;foggy;sunrise over mountains;
cityscape at dusk;bridge at night;barber pole;playground slide;pick;hammer and pick;clamp;white cane;nut and bolt;hook;
petri dish;alembic;maracas;long drum;banjo;flute;heart suit;sponge""".replace("\n", "").split(";")

# What people call some of them instead. The Unicode name stays the first.
ALSO = {"cherries": ["two cherries"], "red heart": ["heart", "love heart"], "automobile": ["red car", "car"],
        "dog face": ["dog's face", "puppy"], "cat face": ["cat's face", "kitten"], "grinning face": ["happy face", "smiley"],
        "hot beverage": ["cup of coffee", "coffee"], "glass of milk": ["milk"], "hamburger": ["burger"],
        "soccer ball": ["football"], "french fries": ["fries"], "doughnut": ["donut"], "sun": ["yellow sun"],
        "sunflower": ["yellow flower"], "rose": ["red rose", "red flower"], "tulip": ["pink flower", "pink tulip"],
        "star": ["yellow star"], "honeybee": ["bee"], "lady beetle": ["ladybug", "red bug"], "beer mug": ["beer"],
        "wine glass": ["glass of red wine", "red wine"], "ear of corn": ["corn"], "hot pepper": ["red chili pepper"],
        "tangerine": ["orange"], "lemon": ["yellow lemon"], "banana": ["yellow banana"], "strawberry": ["red strawberry"],
        "eggplant": ["purple eggplant"], "carrot": ["orange carrot"], "tomato": ["red tomato"], "grapes": ["purple grapes"],
        "pile of poo": ["poop"], "crying face": ["sad face"], "enraged face": ["angry red face", "angry face"],
        "kiss mark": ["red lips"], "jack-o-lantern": ["halloween pumpkin"], "wrapped gift": ["present"],
        "birthday cake": ["cake with candles"], "evergreen tree": ["fir tree"], "deciduous tree": ["green tree", "tree"],
        "house": ["small house"], "sailboat": ["sailing boat"], "airplane": ["plane"], "bicycle": ["bike"],
        "laptop": ["computer"], "mobile phone": ["smartphone"], "locked": ["lock", "padlock"], "high voltage": ["lightning"],
        "droplet": ["blue drop", "water drop"], "fire": ["flame"], "octopus": ["red octopus"], "frog": ["green frog"],
        "flamingo": ["pink flamingo"], "baby chick": ["yellow chick"], "fish": ["blue fish"], "snake": ["green snake"],
        "balloon": ["red balloon"], "american football": ["brown football"], "closed book": ["red book"],
        "umbrella": ["purple umbrella"], "top hat": ["black hat"], "crown": ["golden crown"], "bell": ["golden bell"]}

# Two pictures closer than this (root mean square over all pixels and colours, of 1) are one: the later is left out.
CLOSEST = 0.075


@dataclass
class Emoji:
    text: str       # the character
    names: list     # Unicode's short name, then synonyms
    keywords: list  # CLDR's, without the name's own words
    pixels: np.ndarray  # uint8 [SIDE, SIDE, 3]


def listed_names(path):
    """(code point, name, subgroup) of every emoji of one code point, in the order of Unicode's list."""
    subgroup = None
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# subgroup:"):
                subgroup = line.split(":")[1].strip()
            elif "; fully-qualified" in line:
                points = [int(point, 16) for point in line.split(";")[0].split()]
                points = [point for point in points if point != VARIATION]
                if len(points) == 1:
                    yield points[0], line.split("# ", 1)[1].split(" ", 2)[2].strip(), subgroup


def listed_keywords(path):
    """Character -> CLDR's keywords."""
    found = {}
    for entry in xml.etree.ElementTree.parse(path).getroot().iter("annotation"):
        if entry.get("type") is None:
            found[entry.get("cp")] = [word.strip() for word in entry.text.split("|")]
    return found


def bitmaps(path):
    """Code point -> picture, from the font's largest set of bitmaps, on white."""
    font = TTFont(path)
    glyphs = font.getBestCmap()
    strike = font["CBDT"].strikeData[0]

    def picture(point):
        drawn = Image.open(io.BytesIO(strike[glyphs[point]].imageData)).convert("RGBA")
        side = max(drawn.size)
        square = Image.new("RGBA", (side, side), "white")
        square.alpha_composite(drawn, ((side - drawn.width) // 2, (side - drawn.height) // 2))
        small = square.convert("RGB").resize((INNER, INNER), Image.LANCZOS)
        out = Image.new("RGB", (SIDE, SIDE), "white")
        out.paste(small, ((SIDE - INNER) // 2, (SIDE - INNER) // 2))
        return np.asarray(out)

    return lambda point: picture(point) if point in glyphs and glyphs[point] in strike else None


def plain(text):
    """As people type: no typographic apostrophes."""
    return text.replace("’", "'").replace("“", "").replace("”", "")


def collect(font=FONT, names=NAMES, keywords=KEYWORDS):
    """The set, always in the same order."""
    words, draw, chosen, flat = listed_keywords(keywords), bitmaps(font), [], []
    for point, name, subgroup in listed_names(names):
        if name not in SINGLE and (subgroup not in WHOLE or name in LEFT_OUT):
            continue
        pixels = draw(point)
        if pixels is None:
            continue
        values = pixels.astype(np.float32).reshape(-1) / 255
        if flat and np.sqrt(((np.stack(flat) - values) ** 2).mean(1)).min() < CLOSEST:
            continue
        own = set(plain(name).lower().split())
        more = [plain(word) for word in words.get(chr(point), []) if not set(plain(word).lower().split()) <= own]
        chosen.append(Emoji(chr(point), [plain(name), *ALSO.get(name, [])], more, pixels))
        flat.append(values)
    return chosen


def sheet(pictures, columns):
    """uint8 [H, W, 3]: pictures side by side."""
    rows = -(-len(pictures) // columns)
    out = np.full((rows * SIDE, columns * SIDE, 3), 255, np.uint8)
    for i, picture in enumerate(pictures):
        y, x = i // columns * SIDE, i % columns * SIDE
        out[y:y + SIDE, x:x + SIDE] = picture
    return out


def save_png(path, pixels):
    Image.fromarray(pixels).save(path + ".part", "PNG")
    os.replace(path + ".part", path)
