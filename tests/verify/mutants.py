"""Texts with mistakes: tokens of a program left out, said twice, exchanged or replaced by others."""

import random

from sfumato.errors import SfumatoError
from sfumato.verify.lexer import read_tokens

WORDS = """
0 1 2 -1 1e-5 0.5 ( ) [ ] { } , ; : .. + - * / ^ ++ < <= = != >= > && || ! := :=$ if else while return skip mod
xor and or true false real int bool list private public requires adjacent claim uses one all inc addremove moves
any Laplace Exponential Gauss Geometric Bernoulli Uniform Choice eps delta size abs min clamp ln sqrt exp x
""".split()  # noqa: SIM905  as they are written


def mutants(texts, count, seed=1):
    """So many texts, each with one to three mistakes in it, the same ones every time."""
    dice = random.Random(seed)
    for _ in range(count):
        source = dice.choice(texts)
        spans = [(token.at, token.at + len(token.text)) for token in read_tokens(source)[:-1]]
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            source = mutated(source, spans, dice)
            try:
                spans = [(token.at, token.at + len(token.text)) for token in read_tokens(source)[:-1]]
            except SfumatoError:  # what is no word ends it
                break
            if not spans:
                break
        yield source


def mutated(source, spans, dice):
    start, end = dice.choice(spans)
    other = dice.choice(spans)
    match dice.choice(["drop", "twice", "replace", "exchange", "letter"]):
        case "drop":
            return source[:start] + source[end:]
        case "twice":
            return source[:end] + " " + source[start:end] + source[end:]
        case "replace":
            return source[:start] + dice.choice(WORDS) + source[end:]
        case "exchange":
            return source[:start] + source[other[0] : other[1]] + source[end:]
    return source[:start] + dice.choice("@$#?~\\\"'é∞\n") + source[start:]


ALIKE = [
    {"+", "-", "*", "/", "mod"},
    {"<", "<=", "=", "!=", ">=", ">"},
    {"&&", "||"},
    {"one", "all", "inc", "dec", "addremove", "moves", "any"},
    {"Laplace", "Gauss"},
    {"Exponential", "Geometric", "Bernoulli", "Choice"},
    {"real", "int", "bool"},
    {"private", "public"},
    {"abs", "exp", "ln", "sqrt", "size", "int"},
    {"min", "max"},
    {"true", "false"},
]


def near_mutants(texts, count, seed=1):
    """So many texts, in each of which one to three words are replaced by others that may stand there: many of them
    are programs still.
    """
    dice = random.Random(seed)
    for _ in range(count):
        source = dice.choice(texts)
        for _ in range(dice.choice((1, 1, 2, 3))):
            tokens = read_tokens(source)[:-1]
            token = dice.choice(tokens)
            others = sorted({other.text for other in tokens if other.kind == token.kind == "name"})
            if token.kind == "number":
                others = ["0", "1", "2", "3", "7", "0.5", "1/3", "(0-1)", "1e9", "1e-9", "eps"]
            for group in ALIKE:
                others = sorted(group) if token.text in group else others
            if others:
                source = source[: token.at] + dice.choice(others) + source[token.at + len(token.text) :]
        yield source
