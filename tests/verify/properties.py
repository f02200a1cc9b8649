"""Programs with a property and the verdict that follows by hand; the reason stands beside it."""

WORD = "{0,1}^n"
K, J = "k :=$ Uniform({0,1}^n);", "j :=$ Uniform({0,1}^n);"


def words(body, *, params="m : private {0,1}^n", out=WORD, requires="n >= 1", prop="secrecy"):
    return f"P({params}, n : public int) : public {out} requires {requires}; property {prop}; {body}"


def plain(params, out, body, prop="secrecy", requires=None):
    limit = f"requires {requires};" if requires else ""
    return f"P({params}) : public {out} {limit} property {prop}; {body}"


PAIR = "({0,1}^n, {0,1}^n)"
TWO = "m : private {0,1}^n, o : private {0,1}^n"
LIST = "d : private {0,1}^n list, N : public int"
EACH = "i := 0; r := []; while (i < N) {{ {} i := i + 1 }} return r"

PROVED = {
    # one pad: k' = k xor m xor m', or k' = k + m - m'
    "pad, key first": words(f"{K} return k xor m"),
    "pad, any length": words(f"{K} return m xor k", requires="n >= 0"),
    "pad, 256 bits": words(f"{K} return m xor k", requires="n = 256"),
    "pad, a written length": plain("m : private {0,1}^5", "{0,1}^5", "k :=$ Uniform({0,1}^5); return m + k"),
    "sum": words(f"{K} return k + m"),
    "difference": words(f"{K} return m - k"),
    "other difference": words(f"{K} return k - m"),
    "a public word besides": words(f"{K} return p xor m xor k", params="m : private {0,1}^n, p : public {0,1}^n"),
    "a literal besides": plain("m : private {0,1}^3", "{0,1}^3", "k :=$ Uniform({0,1}^3); return [1,0,1] xor m xor k"),
    "all bits turned": plain("m : private {0,1}^2", "{0,1}^2", "k :=$ Uniform({0,1}^2); return m xor k xor [1,1]"),
    "padded twice": words(f"{K} {J} return m xor k xor j"),
    "padded by two groups": words(f"{K} {J} return (m xor k) + j"),
    "a key of two keys": words(f"{K} {J} key := k + j; return m xor key"),
    "the secret leaves by itself": words(f"{K} return m xor k xor m"),
    "the secret is overwritten": words(f"m := m xor m; {K} return m xor k"),
    "two messages, two keys": words(f"{K} {J} return (m xor k, o xor j)", params=TWO, out=PAIR),
    "two pads of one message": words(f"{K} {J} return (m xor k, m xor j)", out=PAIR),
    "a pad and the keys' sum": words(f"{K} {J} return (m xor j, k xor j)", out=PAIR),
    "the sum first": words(f"{K} {J} return (k xor j, m xor j)", out=PAIR),
    # secret sharing: any shares but all
    "the first share": words(f"{K} t := m xor k; return k"),
    "the second share": words(f"{K} t := m xor k; return t"),
    "two shares of three": words(f"{K} {J} t := m xor k xor j; return (k, t)", out=PAIR),
    "the other two": words(f"{K} {J} t := m xor k xor j; return (j, t)", out=PAIR),
    "an additive share": plain("m : private {0..96}", "{0..96}", "k :=$ Uniform(0..96); return (m - k) mod 97"),
    "residues of any p": plain(
        "m : private int, p : public int", "int", "k :=$ Uniform(0..p-1); return (k + m) mod p", requires="p >= 2"
    ),
    "residues from 1": plain("m : private int", "int", "k :=$ Uniform(1..7); return (m + k) mod 7"),
    "twice as many keys": plain("m : private int", "int", "k :=$ Uniform(0..13); return (m + k) mod 7"),
    # one bit
    "a coin": plain("m : private {0,1}", "{0,1}", "b :=$ Bernoulli(1/2); return m xor b"),
    "a coin by sums": plain("m : private {0,1}", "{0,1}", "b :=$ Uniform(0..1); return (m + b) mod 2"),
    "a coin and a turn": plain("m : private {0,1}", "{0,1}", "b :=$ Bernoulli(1/2); return 1 - (m xor b)"),
    "a coin by branches": plain(
        "m : private {0,1}", "{0,1}", "b :=$ Bernoulli(1/2); if (b = 1) { c := m } else { c := 1 - m } return c"
    ),
    "one bit of many": words("b :=$ Bernoulli(1/2); return m[0] xor b", out="{0,1}"),
    "bit by bit": words(
        "i := 0; r := []; while (i < n) { b :=$ Bernoulli(1/2); r := r ++ [m[i] xor b]; i := i + 1 } return r"
    ),
    # lists
    "a list of pads": words(
        EACH.format(f"{K} r := r ++ [d[i] xor k];"), params=LIST, out="{0,1}^n list", requires="n >= 1 && size(d) = N"
    ),
    "a list of sums": words(
        EACH.format(f"{K} c := d[i] - k; r := r ++ [c];"),
        params=LIST,
        out="{0,1}^n list",
        requires="n >= 1 && N = size(d)",
    ),
    "the sum of a list": words(
        f"i := 0; s := d[0]; while (i < N) {{ s := s xor d[i]; i := i + 1 }} {K} return s + k",
        params=LIST,
        requires="n >= 1 && size(d) = N && N >= 1",
    ),
    "keys in a loop, nothing shown": words(
        EACH.format(f"{K} r := r ++ [k];"), params=LIST, out="{0,1}^n list", requires="n >= 1 && size(d) = N"
    ),
    # no noise
    "nothing of the secret": plain(
        "s : private int, x : public int", "int", "y := s * s; return x + 1", "noninterference"
    ),
    "the same in both branches": plain(
        "s : private int, x : public int",
        "int",
        "if (s > 0) { l := x } else { l := x + s - s } return l",
        "noninterference",
    ),
    "a loop over public things": plain(
        "s : private int, x : public int list",
        "int",
        "i := 0; t := 0; while (i < size(x)) { t := t + x[i]; i := i + 1 } return t",
        "noninterference",
    ),
    "a secret of one value": plain("s : private {3..3}", "int", "return s", "noninterference"),
    # branches that draw
    "a branch draws otherwise": words(
        f"if (b) {{ {K} c := m xor k }} else {{ {J} c := j }} return c", params="m : private {0,1}^n, b : private bool"
    ),
    "a branch after the draw": words(
        f"{K} if (b) {{ c := m xor k }} else {{ c := k }} return c", params="m : private {0,1}^n, b : private bool"
    ),
    "one coin or two": plain(
        "s : private bool", "{0,1}", "a :=$ Bernoulli(1/2); if (s) { b :=$ Bernoulli(1/2); a := a xor b } return a"
    ),
    "a shifted range": plain("s : private int", "int", "k :=$ Uniform(s..s+9); return k - s"),
    "a Laplace noise of its own centre": plain("a : private real", "real", "z :=$ Laplace(2, a); return z - a"),
    "noise alone": plain("a : private real", "real", "z :=$ Laplace(1/eps, 0); return z"),
    # uniform
    "uniform pad": words(f"{K} return m xor k", prop="uniform"),
    "uniform sum of two": words(f"{K} {J} return k + j", prop="uniform"),
    "uniform pair": words(f"{K} {J} return (m xor k, k xor j)", out=PAIR, prop="uniform"),
    "uniform pair, the later draw first": words(f"{K} {J} return (m xor j, k xor j)", out=PAIR, prop="uniform"),
    "uniform residue": plain("m : private {0..6}", "{0..6}", "k :=$ Uniform(0..6); return (m + k) mod 7", "uniform"),
    "uniform truth": plain("m : private bool", "bool", "b :=$ Bernoulli(1/2); return (b = 1)", "uniform"),
    "a die by rejection": plain(
        "m : private bool", "{0..5}", "x :=$ Uniform(0..7); while (x > 5) { x :=$ Uniform(0..7) } return x", "uniform"
    ),
    "rejected until the secret is hidden": words(
        f"{K} while (k = p) {{ {K} }} {J} return m xor j", params="m : private {0,1}^n, p : public {0,1}^n"
    ),
    "uniform from three coins": plain(
        "m : private {0,1}",
        "{0..7}",
        "a :=$ Bernoulli(1/2); b :=$ Bernoulli(1/2); c :=$ Bernoulli(1/2); return 4*a + 2*b + c",
        "uniform",
    ),
}

REFUTED = {
    # the chances of the witness, as computed by hand
    "and": (words(f"{K} return m and k"), {"1", "1/2"}),
    "or": (words(f"{K} return k or m"), {"1/2", "0"}),
    "and, 64 bits": (words(f"{K} return k and m", requires="n = 64"), {"1", "1/2"}),
    "and, written length": (
        plain("m : private {0,1}^99", "{0,1}^99", "k :=$ Uniform({0,1}^99); return m and k"),
        {"1", "1/2"},
    ),
    "no key": (words("return m"), {"1", "0"}),
    "a key that is not used": (
        words(f"{K} return m xor p", params="m : private {0,1}^n, p : public {0,1}^n"),
        {"1", "0"},
    ),
    "the key twice": (words(f"{K} return m xor k xor k"), {"1", "0"}),
    "the key doubled": (words(f"{K} return m + k + k"), {"1", "0"}),
    "the key for two messages": (words(f"{K} return (m xor k, o xor k)", params=TWO, out=PAIR), {"1/2", "0"}),
    "the same, long": (
        words(f"{K} return (m + k, o + k)", params=TWO, out=PAIR, requires="n >= 100 && n <= 200"),
        {"1/2", "0"},
    ),
    "both shares": (words(f"{K} t := m xor k; return (t, k)", out=PAIR), {"1/2", "0"}),
    "all three shares": (
        words(f"{K} {J} t := m xor k xor j; return (k, j, t)", out="({0,1}^n, {0,1}^n, {0,1}^n)"),
        {"1/4", "0"},
    ),
    "the message and its pad": (words(f"{K} return (m, m xor k)", out=PAIR), {"1/2", "0"}),
    "too few residues": (
        plain("m : private {0..6}", "{0..6}", "k :=$ Uniform(0..5); return (m + k) mod 7"),
        {"1/6", "0"},
    ),
    "a biased coin": (plain("m : private {0,1}", "{0,1}", "b :=$ Bernoulli(1/3); return m xor b"), {"1/3", "2/3"}),
    "not modulo": (plain("m : private {0..6}", "int", "k :=$ Uniform(0..6); return m + k"), {"1/7", "0"}),
    "the length of a list": (
        words(
            "i := 0; r := []; while (i < size(d)) { k :=$ Uniform({0,1}^n); r := r ++ [d[i] xor k];"
            " i := i + 1 } return r",
            params="d : private {0,1}^n list",
            out="{0,1}^n list",
        ),
        {"1", "0"},
    ),
    "one key for a list": (
        words(
            f"{K} " + EACH.format("r := r ++ [d[i] xor k];"),
            params=LIST,
            out="{0,1}^n list",
            requires="n >= 1 && size(d) = N",
        ),
        {"1/2", "0"},
    ),
    "a branch on a secret": (
        plain("s : private int", "int", "if (s > 3) { l := 1 } else { l := 0 } return l", "noninterference"),
        {"1", "0"},
    ),
    "a far secret": (
        plain(
            "s : private int", "int", "if (s * 3 = 300000021) { l := 1 } else { l := 0 } return l", "noninterference"
        ),
        {"1", "0"},
    ),
    "a secret added": (plain("s : private int, x : public int", "int", "return x - s", "noninterference"), {"1", "0"}),
    "a secret's remainder": (plain("s : private int", "int", "return s mod 5", "noninterference"), {"1", "0"}),
    "false is not 0": (
        plain("s : private bool", "int list", "r := []; if (s) { r := r ++ [false] } else { r := r ++ [0] } return r"),
        {"1", "0"},
    ),
    "a branch that draws another law": (
        plain("s : private bool", "{0,1}", "if (s) { b :=$ Bernoulli(1/2) } else { b :=$ Bernoulli(1/4) } return b"),
        {"1/2", "1/4", "3/4"},
    ),
    "a range that tells": (plain("s : private {0..3}", "int", "k :=$ Uniform(0..s); return k"), {"1", "1/2", "1/4"}),
    "never returning": (plain("s : private bool", "int", "while (s) { skip } return 0", "noninterference"), {"1", "0"}),
    "a rejection that is off": (
        plain(
            "m : private bool",
            "{0..5}",
            "x :=$ Uniform(0..7); while (x > 6) { x :=$ Uniform(0..7) } return x mod 6",
            "uniform",
        ),
        {"2/7", "1/7"},
    ),
    "uniform and": (words(f"{K} {J} return k and j", prop="uniform"), {"3/4", "1/4"}),
    "uniform residue of more": (
        plain("m : private {0..6}", "{0..6}", "k :=$ Uniform(0..7); return (m + k) mod 7", "uniform"),
        {"1/4", "1/8"},
    ),
    "uniform sum of dice": (
        plain("m : private bool", "{2..12}", "a :=$ Uniform(1..6); b :=$ Uniform(1..6); return a + b", "uniform"),
        {"1/6", "1/36"},
    ),
    "uniform on all integers": (
        plain("m : private bool", "int", "a :=$ Uniform(1..6); return a", "uniform"),
        {"1/6", "0"},
    ),
    "never uniform": (words("return m", prop="uniform"), {"1", "0"}),
}

ERRORS = {
    "bit lists of different lengths": plain("m : private {0,1}^2", "{0,1}^3", "k :=$ Uniform({0,1}^3); return m xor k"),
    "an index outside": words("return m[n]", out="{0,1}"),
    "a negative range": plain("m : private int", "int", "k :=$ Uniform(0..m); return 0"),
    "no input satisfies": words("return m", requires="n >= 2 && n <= 1"),
}
