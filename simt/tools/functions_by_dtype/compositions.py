"""Random kernels of a few operations, where a type follows from what stands beside.

Literals that Python computes before Numba sees them, numbers from outside the kernel, variables
that several assignments share: each is compiled and run as the one-line kernels of `cases.py` are.
"""

import random

from functions_by_dtype.cases import Case, names

INTEGERS = "i1 i2 i4 i8 u1 u2 u4 u8 b1".split()
FLOATS = "f4 f8".split()
WHOLE = (
    "0 1 -1 2 3 -2 -3 7 255 True False 2**31 2**32-1 2**63 2**64-1 -2**63 7//2 -7//2 -7%3 1<<40 ~5"
)
REAL = "0.5 -0.75 2.5 3.0 -0.0 2**-1 2**-32 1/3 7/2 -2**-2 2.0**-3 5.5//2 -5.5%2 1e9 1e-300"
OUTSIDE = {"i": "WHOLE NEGATIVE TRUTH BYTE SHORT", "f": "REAL SINGLE"}  # of cases.SCOPE
CASTS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 bool_".split()


class Author:
    """Expressions of integers (i) or floats (f) over the names x, y, z."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.types = {}
        for name in "xyz":
            self.types[name] = self.random.choice(self.random.choice([INTEGERS, FLOATS]))
        self.own = {}  # variables: their kinds

    def case(self) -> Case:
        """A kernel and the types of its arguments."""
        self.own = {}
        text = self.random.choice(
            [self.plain, self.plain, self.augmented, self.branch, self.loop]
        )()
        used = [name for name in "xyz" if name in names(text)]
        return Case(text, tuple(self.types[name] for name in used)) if used else self.case()

    def plain(self) -> str:
        return self.expression(self.kind(), self.random.choice([1, 2, 2]))

    def augmented(self) -> str:
        kind, other = self.kind(), self.kind()
        sign = self.sign("i" if kind == other == "i" else "f")
        return f"v = {self.expression(kind, 1)}; v {sign}= {self.amount(sign, other)}; v"

    def branch(self) -> str:
        first, second = self.kind(), self.kind()
        lines = [f"v = {self.expression(first, 1)}"]
        self.own = {"v": first}
        lines.append(f"s = {self.expression(first, 1)}")
        self.own["s"] = first
        lines.append(f"if {self.condition()}: v = {self.expression(second, 1)}")
        self.own["v"] = "f" if "f" in first + second else "i"
        return "; ".join(
            [*lines, self.random.choice(["v", "(s, v)", self.expression(self.own["v"], 1)])]
        )

    def loop(self) -> str:
        first = self.kind()
        lines = [f"v = {self.expression(first, 0)}"]
        self.own = {"v": first}
        sign = self.sign(self.kind())
        lines.append(
            f"for s in range({self.random.choice('123')}): v = v {sign} {self.amount(sign, 'f')}"
        )
        return "; ".join([*lines, "v"])

    def kind(self) -> str:
        return self.random.choice("iif")

    def sign(self, kind: str) -> str:
        choice = self.random.choice
        return (
            choice(["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "**"])
            if kind == "i"
            else choice("+-*/")
        )

    def amount(self, sign: str, kind: str) -> str:
        """A right operand for which the operation is defined."""
        if sign in ("<<", ">>"):
            return self.random.choice(["3", "40", "1", f"({self.leaf('i')} & 31)"])
        if sign == "**":
            return self.random.choice(
                ["2", "-1", "3", "0", "-2", "True", f"({self.leaf('i')} & 3)"]
            )
        if sign in ("//", "%"):
            return self.random.choice(["3", "-7", "7", f"({self.leaf('i')} | 1)"])
        if sign in "&|^":
            return self.leaf("i")
        return self.leaf(kind)

    def leaf(self, kind: str) -> str:
        choose = self.random.choice
        wanted = INTEGERS if kind == "i" else FLOATS
        mine = [name for name, code in self.types.items() if code in wanted]
        mine += 2 * [name for name, own in self.own.items() if own == kind]
        if mine and self.random.random() < 0.65:
            return choose(mine)
        if self.random.random() < 0.25:
            return choose(OUTSIDE[kind].split())
        literal = choose((WHOLE if kind == "i" else REAL).split())
        return f"({literal})"

    def expression(self, kind: str, depth: int) -> str:
        if depth == 0:
            return self.leaf(kind)
        choose = self.random.choice
        p = self.expression(kind, depth - 1)
        q = self.expression(kind if kind == "i" else choose("if"), depth - 1)
        if kind == "f" and choose([True, False]):
            p, q = q, p
        sign = self.sign("i")
        forms = [f"({p} {s} {q})" for s in "+-*"] + [f"(-{p})", f"(+{p})", f"abs({p})"]
        forms += [f"({p} if {self.condition()} else {q})"]
        forms += [f"{choose(['min', 'max'])}({p}, {q})", f"{choose(CASTS[:-1])}({p})"]
        if kind == "i":
            forms += [f"({p} {sign} {self.amount(sign, 'i')})"] * 5
            forms += [f"(~{p})", f"int({self.leaf('f')})", f"bool({p})", f"({self.condition()})"]
            forms += [f"round({self.leaf('f')})", f"(not {p})", f"int({p})"]
            forms += [f"divmod({p}, {self.amount('//', 'i')})[{choose('01')}]"]
            forms += [
                f"({p} {choose(['and', 'or'])} {q})",
                f"({self.condition()} {choose('&|^')} {self.condition()})",
            ]
        else:
            whole = self.leaf("i")
            forms += [f"({p} / 3)", f"({whole} / {self.amount('//', 'i')})", f"float({whole})"]
            forms += [
                f"({p} ** {choose(['2', '3', '-1', '-2', '0', '1'])})",
                f"({p} {choose(['//', '%'])} 2.5)",
            ]
            forms += [
                f"({whole} ** {choose(['-1', '2', '-2', '0.5', '-1.0', '2.0'])})",
                f"math.pow({whole}, {choose('23')})",
            ]
            forms += [f"math.floor({p})", f"math.sqrt(abs({whole}))", f"round({p}, 1)"]
        text = choose(forms)
        return f"np.{text}" if text.startswith(tuple(f"{c}(" for c in CASTS)) else text

    def condition(self) -> str:
        kind = self.random.choice("if")
        signs = ["<", "<=", ">", ">=", "==", "!="]
        return (
            f"{self.leaf(kind)} {self.random.choice(signs)} {self.leaf(self.random.choice('if'))}"
        )


def compositions(seed: int, count: int) -> list[Case]:
    """That many kernels, no two alike."""
    found, number = {}, 0
    while len(found) < count:
        found[Author(seed * 1_000_003 + number).case()] = None
        number += 1
    return list(found)
