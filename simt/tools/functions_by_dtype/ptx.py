"""PTX run on a CPU: each device function of a PTX text becomes a function in C.

So the values are those of the code that numba-cuda, NVVM and libdevice really made. What each
instruction computes is in `ptx.h`, from NVIDIA's PTX ISA: rounding and special values are exact,
the approximate instructions are the C library's.
"""

import re

KINDS = {"pred": "int", "b8": "uint8_t", "b16": "uint16_t", "b32": "uint32_t", "b64": "uint64_t"}
KINDS |= {f"{k}{n}": f"{'u' * (k == 'u')}int{n}_t" for k in "su" for n in (8, 16, 32, 64)}
KINDS |= {"f32": "float", "f64": "double", "f16": "uint16_t"}
LITERAL = re.compile(r"\b0([fd])([0-9A-Fa-f]{16}|[0-9A-Fa-f]{8})\b")
SIGNS = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^"}
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
LOGIC = {"and": "&&", "or": "||", "xor": "!="}
CARRY = {  # with the carry flag `cc`
    "add.cc": "(uint64_t)A + B; cc = t >> 32",
    "addc.cc": "(uint64_t)A + B + cc; cc = t >> 32",
    "addc": "(uint64_t)A + B + cc",
    "sub.cc": "(uint64_t)A - B; cc = t >> 63",
    "subc.cc": "(uint64_t)A - B - cc; cc = t >> 63",
    "subc": "(uint64_t)A - B - cc",
    "mad.lo.cc": "(uint64_t)(uint32_t)(A * B) + C; cc = t >> 32",
    "madc.lo.cc": "(uint64_t)(uint32_t)(A * B) + C + cc; cc = t >> 32",
    "madc.hi.cc": "((uint64_t)A * B >> 32) + C + cc; cc = t >> 32",
    "madc.hi": "((uint64_t)A * B >> 32) + C + cc",
}
NOTHING = "membar fence nanosleep pragma".split()


class Unknown(ValueError):
    """An instruction that this translation does not know: of warps and barriers, for example."""


def functions(ptx: str) -> dict[str, tuple[str, list[str]]]:
    """Name -> the device function in C and the C types of its parameters; Unknown ones left out."""
    found = {}
    pattern = r"^(?:\.\w+ )*\.func\s+([^{;]*?)\s*\{\n(.*?)^\}"
    for head, body in re.findall(pattern, re.sub(r"//.*", "", ptx), re.M | re.S):
        name, back, parameters = _head(head)
        arguments = ", ".join(f"{kind} {parameter}" for kind, parameter in parameters)
        signature = f"static {back or 'void'} {name}({arguments})"
        try:
            found[name] = f"{signature} {{\n{_body(body, back)}}}\n", [k for k, _ in parameters]
        except (Unknown, KeyError):
            continue
    return found


def data(ptx: str) -> str:
    """The tables and shared arrays of a PTX text, in C."""
    pattern = r"\.(?:const|global|shared) \.align (\d+) \.(\w+) ([\w$]+)"
    pattern += r"(?:\[(\d*)\])?(?: = (.*?))?;"
    found = []
    for align, kind, name, size, value in re.findall(pattern, ptx, re.S):
        if "NumbaEnv" in name:  # of Numba's runtime, never read
            continue
        value = value if value.startswith("{") else f"{{{value or 0}}}"
        place = f"static {KINDS[kind]} __attribute__((aligned({align}))) {identifier(name)}"
        found.append(f"{place}[{size or 1}] = {_literals(value)};\n")
    return "".join(dict.fromkeys(found))


def _head(head: str) -> tuple[str, str | None, list[tuple[str, str]]]:
    result, name, parameters = re.match(
        r"\s*(?:\(([^)]*)\))?\s*([\w$]+)\s*(?:\((.*)\))?", head, re.S
    ).groups()
    parameters = [_parameter(p) for p in (parameters or "").split(",") if p.strip()]
    return identifier(name), result and _parameter(result)[0], parameters


def _parameter(text: str) -> tuple[str, str]:
    """.param .b64 name, .param .align 4 .b8 name[8]"""
    kind, name, size = re.search(r"\.(\w+)\s+([\w$]+)\s*(?:\[(\d+)\])?\s*$", text.strip()).groups()
    return (f"B{size}" if size else KINDS[kind]), identifier(name)


def _body(body: str, back: str | None) -> str:
    lines = ["uint32_t cc = 0;"] + [f"{back} func_retval0;"] * bool(back)
    body = re.sub(r"\s+", " ", body.replace(";}", "; }")).strip() + " "
    for text in re.split(r"(?<=[;{}:])\s", body):
        if text.strip():
            lines.append(_line(text.strip(), back))
    return "".join(f"    {line}\n" for line in lines)


def _line(text: str, back: str | None) -> str:
    if text in "{}":
        return text
    if text.startswith("bar.warp.sync"):
        return ";"
    if text.endswith(":"):
        return f"{identifier(text[:-1])}: ;"
    if found := re.match(r"\.reg \.(\w+) (.*);", text):
        return _registers(KINDS[found[1]], found[2])
    if found := re.match(r"\.local \.align \d+ \.b8 ([\w$]+)\[(\d+)\];", text):
        return f"uint8_t __attribute__((aligned(16))) {identifier(found[1])}[{found[2]}];"
    if found := re.match(r"\.param (.*);", text):
        return "{} {};".format(*_parameter(text.rstrip(";")))
    if text.startswith("ret;") or text.endswith(" ret;"):
        return f"return{' func_retval0' * bool(back)};"
    guard = ""
    if found := re.match(r"@(!?)%(\w+) (.*)", text):
        guard, text = f"if ({found[1]}{found[2]}) ", found[3]
    operation, _, rest = text.rstrip("; ").partition(" ")
    operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s]+", rest)
    return f"{guard}{{ {_statement(operation.lstrip('.').split('.'), operands)} }}"


def _registers(kind: str, names: str) -> str:
    if found := re.match(r"%(\w+?)<(\d+)>", names):
        named = [f"{found[1]}{i}" for i in range(1, int(found[2]))]
    else:
        named = [identifier(name) for name in names.split(",")]
    return f"{kind} {', '.join(f'{name} = 0' for name in named)};" if named else ""


def identifier(text: str) -> str:
    """A name of PTX as one of C."""
    return re.sub(r"\W", "_", text.strip().lstrip("%$"))


def _literals(text: str) -> str:
    return LITERAL.sub(lambda match: f"{match[1].upper()}(0x{match[2]})", text)


def _operand(text: str) -> str:
    """A register, a number or a name, as C."""
    text = text.strip()
    if re.match(r"%(tid|ntid|ctaid|nctaid|laneid|lanemask|dynamic)", text):
        raise Unknown(text)
    if LITERAL.fullmatch(text):
        return _literals(text)
    if re.fullmatch(r"-?\d+", text):
        return f"((int64_t){int(text) % 2**64}ull)"
    return text if re.fullmatch(r"0x\w+", text) else identifier(text)


def _address(text: str) -> str:
    """[%rd1+8], [name+4], [name]"""
    base, _, offset = text.strip("[] ").partition("+")
    return f"({'' if base.startswith('%') else '(uint64_t)&'}{identifier(base)} + ({offset or 0}))"


def _parts(text: str) -> list[str]:
    return [_operand(part) for part in text.strip("{}").split(",")]


def _statement(operation: list[str], operands: list[str]) -> str:
    name, *suffixes = operation
    kind = suffixes[-1] if suffixes else ""
    if name in NOTHING:
        return ";"
    if name == "bra":
        return f"goto {identifier(operands[0])};"
    if name == "call":
        return _call(operands)
    if name in ("ld", "st"):
        return _memory(name, KINDS[kind], operands)
    if name == "mov":
        return _move(kind, *operands)
    if name == "cvta":
        return f"{_operand(operands[0])} = (uint64_t)({_operand(operands[1])});"
    if name == "atom":
        return _atomic(suffixes, operands)
    into, *values = map(_operand, operands)
    if (carry := ".".join(operation[:-1])) in CARRY:
        named = {letter: f"(uint32_t){v}" for letter, v in zip("ABC", values, strict=False)}
        total = re.sub("[ABC]", lambda match: named[match[0]], CARRY[carry])
        return f"uint64_t t = {total}; {into} = (uint32_t)t;"
    typed = [f"VALUE({KINDS[kind]}, {v})" for v in values]
    if name == "setp":
        return f"{into} = {_comparison(suffixes, typed[:2], values[2:])};"
    if name == "cvt":
        return f"{into} = {_conversion(suffixes, typed[0])};"
    if name == "selp":
        return f"{into} = {values[2]} ? {typed[0]} : {typed[1]};"
    if kind == "pred":
        return f"{into} = !!({'!' + values[0] if name == 'not' else SIGNS[name].join(values)});"
    if kind[0] == "f":
        return f"{into} = {_real(name, suffixes, typed)};"
    return f"{into} = {_integer(name, suffixes, typed, values)};"


def _call(operands: list[str]) -> str:
    """call (result), function, (arguments)"""
    result = operands.pop(0) if operands[0].startswith("(") else ""
    function, arguments = (*operands, "()")[:2]
    if function == "_":
        raise Unknown("call of nothing")
    given = ", ".join(identifier(a) for a in arguments.strip("()").split(",") if a.strip())
    into = f"{identifier(result.strip('()'))} = " if result else ""
    return f"{into}{identifier(function)}({given});"


def _memory(name: str, kind: str, operands: list[str]) -> str:
    place, values = operands[::-1] if name == "ld" else operands
    found = []
    for i, value in enumerate(_parts(values)):
        slot = f"*({kind} *)({_address(place)} + {i} * sizeof({kind}))"
        found.append(f"{value} = {slot};" if name == "ld" else f"{slot} = ({kind})({value});")
    return " ".join(found)


def _move(kind: str, into: str, source: str) -> str:
    half = int(kind[1:]) // 2 if kind != "pred" else 0
    if into.startswith("{"):
        low, high = _parts(into)
        split = f"{low} = (uint{half}_t)t; {high} = t >> {half};"
        return f"uint64_t t = BITS({_operand(source)}); {split}"
    if source.startswith("{"):
        low, high = (f"(uint{2 * half}_t)(uint{half}_t)({part})" for part in _parts(source))
        return f"uint{2 * half}_t t = {high} << {half} | {low}; COPY({_operand(into)}, t);"
    value = _operand(source)
    if kind == "pred":
        return f"{_operand(into)} = !!{value};"
    if kind[0] == "b":
        return f"uint64_t t = BITS({value}); COPY({_operand(into)}, t);"
    number = source[0] in "%-" or source[0].isdigit()
    return f"{_operand(into)} = {value if number else f'(uint64_t)&{value}'};"


def _comparison(suffixes: list[str], typed: list[str], more: list[str]) -> str:
    a, b = (f"from_half({t})" if suffixes[-1] == "f16" else t for t in typed)
    how, nan = suffixes[0], f"(ISNAN({a}) || ISNAN({b}))" if suffixes[-1][0] == "f" else "0"
    if how in ("nan", "num"):
        value = nan if how == "nan" else f"!{nan}"
    elif len(how) == 3:
        value = f"({nan} || {a} {COMPARE[how[:2]]} {b})"
    else:
        value = f"(!{nan} && {a} {COMPARE[how]} {b})"
    return f"({value} {LOGIC[suffixes[1]]} {more[0]})" if more else value


def _conversion(suffixes: list[str], value: str) -> str:
    *modes, target, source = suffixes
    mode = next((m for m in modes if m[0] == "r"), "rn")
    bits = source[1:]
    if source == "f16":
        value = f"from_half({value})"
    if target == "f16":
        return f"to_half({value})"
    if source[0] == "f" and target[0] == "f":
        value = f"round_{mode}({value})" if mode.endswith("i") else value
        mode = mode[:2] if not mode.endswith("i") else "rn"
        value = f"WITH({mode}, ({KINDS[target]})({value}))"
        return f"saturate({value})" if "sat" in modes else value
    if source[0] == "f":
        return f"TO_{target}_{bits}(round_{mode}({value}))"
    value = f"({KINDS[target]})({value})"
    return f"WITH({mode}, {value})" if target[0] == "f" else value


def _atomic(suffixes: list[str], operands: list[str]) -> str:
    kind = KINDS[suffixes[-1]]
    how = next(s for s in suffixes if s in "add and or xor exch min max inc dec cas".split())
    values = [f"VALUE({kind}, {_operand(o)})" for o in operands[2:]]
    a, b = values[0], values[-1]
    new = {name: f"old {sign} {a}" for name, sign in SIGNS.items()} | {"exch": a}
    new |= {"min": f"old < {a} ? old : {a}", "max": f"old > {a} ? old : {a}"}
    new |= {"inc": f"old >= {a} ? 0 : old + 1", "cas": f"old == {a} ? {b} : old"}
    new |= {"dec": f"old == 0 || old > {a} ? {a} : old - 1"}
    place = f"{kind} *p = ({kind} *){_address(operands[1])}; {kind} old = *p;"
    return f"{place} *p = {new[how]}; {_operand(operands[0])} = old;"


def _real(name: str, suffixes: list[str], typed: list[str]) -> str:
    kind = suffixes[-1]
    mode = next((s for s in suffixes if s in ("rn", "rz", "rm", "rp")), "rn")
    flush = "ftz" in suffixes and kind == "f32"
    a, b, c = ([f"flush({t})" if flush else t for t in typed] + ["", ""])[:3]
    values = {"add": f"{a} + {b}", "sub": f"{a} - {b}", "mul": f"{a} * {b}", "div": f"{a} / {b}"}
    values |= {"fma": f"fma{'f' * (kind == 'f32')}({a}, {b}, {c})"}
    values |= {"sqrt": f"SQRT({a})", "rcp": f"1 / {a}"}
    if name in values:
        value = f"WITH({mode}, ({KINDS[kind]})({values[name]}))"
    elif name in ("neg", "abs"):
        value = f"-{a}" if name == "neg" else f"fabs({a})"
    elif name in ("min", "max"):
        value = f"{name}_f({a}, {b})"
    elif name == "copysign":
        value = f"copysign({b}, {a})"
    elif name in ("rsqrt", "ex2", "lg2", "sin", "cos", "tanh"):
        value = f"approx_{name}({a})"
    else:
        raise Unknown(name)
    value = f"saturate({value})" if "sat" in suffixes else value
    return f"({KINDS[kind]})({f'flush({value})' if flush else value})"


def _integer(name: str, suffixes: list[str], typed: list[str], values: list[str]) -> str:
    kind = suffixes[-1]
    a, b = (*typed, "")[:2]
    added = values[2] if name == "mad" else "0"
    width, signed = int(kind[1:]), kind[0] == "s"
    unsigned, own = f"uint{width}_t", KINDS[kind]
    if name in ("mul", "mad", "mul24"):
        double = ("" if signed else "unsigned ") + "__int128" if width == 64 else ""
        double = double or f"{'' if signed else 'u'}int{2 * width}_t"
        product = f"({double})({a}) * ({double})({b})"
        if "wide" in suffixes:
            return f"{product} + {added}"
        product = f"({own})(({product}) >> {width})" if "hi" in suffixes else f"({own})({product})"
        return f"({own})({product} + {added})"
    if name in ("add", "sub"):
        return f"({own})(({unsigned})({a}) {SIGNS[name]} ({unsigned})({b}))"
    if name in SIGNS:
        return f"({own})({a} {SIGNS[name]} {b})"
    if name in ("neg", "abs"):
        negative = f"({own})(0 - ({unsigned})({a}))"
        return negative if name == "neg" else f"({a} < 0 ? {negative} : {a})"
    if name == "not":
        return f"({own})~{a}"
    if name in ("min", "max"):
        return f"{name}_i({a}, {b})"
    if name in ("shl", "shr"):
        return f"{name}_{kind}({a}, (uint32_t){values[1]})"
    if name in "div rem popc clz brev bfind bfi prmt sad".split():
        return f"{name}_{kind}({', '.join(typed)})"
    raise Unknown(name)
