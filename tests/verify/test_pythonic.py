"""Python functions and the programs they are read as: both do the same, and what cannot be read is said."""

import random
import textwrap
from fractions import Fraction

import pytest

from sfumato.errors import InputError
from sfumato.verify.parse import read_program
from sfumato.verify.pythonic import translated
from sfumato.verify.run import AtDraw, Runner
from sfumato.verify.verdict import verify

F = Fraction
HEAD = {"adjacent": "one", "claim": "eps"}
BODIES = {
    "range": "r = []\nfor i in range(n):\n    r.append(i * 2)\nreturn r",
    "range from": "s = 0\nfor i in range(1, n):\n    s += i\nreturn s",
    "range down": "r = []\nfor i in range(n - 1, -1, -1):\n    r = r + [d[i % 3]]\nreturn r",
    "range by two": "r = []\nfor i in range(0, n, 2):\n    r.append(i)\nreturn r",
    "read after the loop": "i = 7\nfor i in range(n):\n    z = Laplace(1, 0)\nreturn i",
    "assigned in the loop": "r = []\nfor i in range(n):\n    i = i + 5\n    r.append(i)\nreturn r",
    "an end that changes": "m = n\nr = []\nfor i in range(m):\n    m = m + 1\n    r.append(m)\nreturn r",
    "the same name twice": "s = 0\nfor i in range(n):\n    s += i\nfor i in range(2):\n    s += i\nreturn s",
    "over a list": "s = 0\nfor x in d:\n    z = Laplace(1, 0)\n    s += x + z\nreturn s",
    "over a list that grows": "r = [1]\nfor x in r:\n    r = r + [x]\nreturn r",
    "break": "s = 0\nfor i in range(n):\n    if i > 2:\n        break\n    s += i\n    s += 1\nreturn s",
    "break in while": "i = 0\nwhile True:\n    z = Laplace(1, 0)\n    if z > 0 or i > 9:\n        i += 100\n"
    "        break\n    i += 1\nreturn i",
    "break of the inner loop": "s = 0\nfor i in range(n):\n    for j in range(n):\n        if j > i:\n"
    "            break\n        s += 10\n    s += 1\nreturn s",
    "break and read after": "i = 0\nfor i in range(n):\n    if i == 3:\n        break\nreturn i",
    "break in both branches": "s = 0\nfor i in range(9):\n    if i == n:\n        break\n    else:\n"
    "        if i == 5:\n            break\n        s += 1\n    s += 10\nreturn s",
    "chained": "return [0 < n <= 3, 1 < n < n + 1 < 9]",
    "conditional": "x = 1 if n > 2 else 2\ny = Laplace(1, 0) if n > 2 else 3\nreturn x + y if n > 1 else x",
    "conditional inside": "x = 1 if n > 2 else 2 if n > 1 else 3\nreturn x",
    "annotated": "x: int = 4\nreturn x",
    "names that are taken": "_going1 = 3\nfor i in range(n):\n    if i > 1:\n        break\nreturn _going1",
    "pass": "for i in range(n):\n    pass\nreturn n",
}


LISTS = {name for name, body in BODIES.items() if body.endswith("return r")} | {"chained"}  # what is returned


def text_of(body, output="public real"):
    head = f'def f(n: "public int", d: "private real list") -> "{output}":\n'
    return head + textwrap.indent(body, "    ")


def by_python(body, n, d):
    noise = iter(range(-3, 60))
    scope = {"Laplace": lambda *_: F(next(noise))}
    exec(text_of(body), scope)
    return scope["f"](F(n) if "range" not in body else n, d)


def by_program(body, n, d, output):
    noise = iter(range(-3, 60))
    running = Runner(read_program(translated(text_of(body, output), HEAD))).run(
        {"n": F(n), "d": d, "eps": F(1), "delta": F(0)}, 500
    )
    try:
        stop = next(running)
        while True:
            stop = running.send(F(next(noise)) if isinstance(stop, AtDraw) else None)
    except StopIteration as end:
        return end.value


def plain(value):
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.filterwarnings("ignore:line .* the annotation of")
@pytest.mark.parametrize("name", BODIES)
def test_a_function_and_its_program_do_the_same(name):
    output = {"chained": "public bool list"}.get(name, "public real list" if name in LISTS else "public real")
    for n in (0, 1, 2, 3, 5):
        if n == 0 and "read after" in name:
            continue  # Python has no value there, or an older one
        d = (F(1), F(-2), F(5))
        assert plain(by_program(BODIES[name], n, d, output)) == plain(by_python(BODIES[name], n, d)), n


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(0, n, 0):\n    pass\nreturn n",
        "for i in [1, 2]:\n    pass\nreturn n",
        "for i in range(n):\n    continue\nreturn n",
        "for i in range(n):\n    pass\nelse:\n    pass\nreturn n",
        "break\nreturn n",
        "x = n + (1 if n > 0 else 2)\nreturn x",
        "x: int\nreturn n",
        "print(n)\nreturn n",
        "x = y = 1\nreturn x",
    ],
)
def test_what_cannot_be_read_is_said(body):
    with pytest.raises(InputError, match=r"expected .*, line \d+ column \d+"):
        translated(text_of(body), HEAD)


def test_an_annotation_that_is_dropped_is_said():
    with pytest.warns(UserWarning, match="the annotation of x is not checked"):
        translated(text_of("x: int = 4\nreturn x"), HEAD)


def test_a_function_with_for_and_break_is_proved():
    body = """t = Laplace(2/eps, 0)
found = -1
for i in range(len(d)):
    e = Laplace(4/eps, 0)
    if d[i] + e >= n + t:
        found = i
        break
return found"""
    text = translated(text_of(body), {"adjacent": "all", "claim": "eps"})
    assert verify(read_program(text)).verdict == "PROVED"
    wrong = translated(text_of(body.replace("4/eps", "3/eps")), {"adjacent": "all", "claim": "eps"})
    assert verify(read_program(wrong)).verdict == "REFUTED"


SHARED = [
    "a = []\nb = a\na.append(n)\nreturn b",
    "a = []\nr = [a]\na.append(n)\nreturn n",
    "a = [0]\nb = a\nb += [n]\nreturn a",
    "a = []\nb = []\nb = a if n > 0 else b\nb.append(n)\nreturn a",
    "a = [0]\nfor x in a:\n    if x == 0:\n        a.append(1)\nreturn a",
    "r = [[1], [2]]\nx = r[0]\nx += [n]\nreturn n",
    "r = [[1], [2]]\nfor x in r:\n    x += [n]\nreturn n",
    "b = d\nb.append(n)\nreturn n",
    "a = [n]\na = a - a\nreturn a",
]


@pytest.mark.parametrize("body", SHARED)
def test_lists_that_python_shares_are_refused(body):
    with pytest.raises(InputError, match=r"expected .*, line \d+ column \d+"):
        translated(text_of(body, "public real list"), HEAD)


@pytest.mark.parametrize("text", ["private real) : public real adjacent one; claim 0; return 0 --", "real; x", "[0,1"])
def test_an_annotation_cannot_hold_a_program(text):
    with pytest.raises(InputError, match="expected an annotation"):
        translated(f'def f(c: "{text}") -> "public real":\n    return c', HEAD)
    with pytest.raises(InputError, match="expected one value after claim"):
        translated('def f(c: "private real") -> "public real":\n    return c', {"claim": "0; return 0"})


LINES = [
    "a = [n]", "b = [1, 2]", "a = b", "b = a", "a = a + [3]", "b = a + b", "a.append(n)", "b.append(7)", "a += [5]",
    "b += a", "r = [len(a)]", "s += len(b)", "for x in a:\n    s += x", "for x in b:\n    a.append(x)",
    "if len(a) > 0:\n    s += a[0]", "for x in b:\n    b.append(x)", "if n > 1:\n    a = b\nelse:\n    a = [4]",
    "for i in range(n):\n    a.append(i)", "b = a if n > 1 else [9]", "for i in range(len(a)):\n    a = a + [i]",
]  # fmt: skip


def test_random_functions_with_lists_do_what_python_does():
    """Functions that share and change lists in every way: what is read runs as Python runs it."""
    chance, read, refused = random.Random(5), 0, 0
    for _ in range(600):
        lines = chance.choices(LINES, k=chance.randint(2, 6))
        body = "\n".join(["a = []", "b = [8]", "s = 0", *lines, "return a + b + [s]"])
        try:
            translated(text_of(body, "public real list"), HEAD)
        except InputError:
            refused += 1
            continue
        read += 1
        for n in (0, 2):
            found = plain(by_program(body, n, (F(1),), "public real list"))
            assert found == plain(by_python(body, n, (F(1),))), body
    print(f"{read} read, {refused} refused")  # noqa: T201  for pytest -s
    assert read > 100
    assert refused > 100
