"""What two processes say to each other, where one may not be trusted: JSON and arrays, no pickle.

A message is one line. A value that JSON has not becomes {"kind": ..., ...}; what is neither an
array, nor a number, a text, or a container of these, becomes the name of its type.
"""

import ast
import base64
import builtins
import contextlib
import io
import json
import sys
from typing import Any, BinaryIO

import numpy as np

LARGEST = 64 * 2**20  # bytes of a message
DEEP = 8  # containers within each other
MANY = 10_000  # entries of a container
TEXT = 100_000  # characters of a text
CONTAINERS = {"list": list, "tuple": tuple}
TORCH = "torch"
TYPES = ("bfloat16", "float16", "float32", "float64", "bool", "uint8", "int8", "int16", "int32")
TYPES = {name: name for name in (*TYPES, "int64", "complex64", "complex128")}  # of tensors
SCALARS = frozenset(np.sctypeDict.values())
STRANGE = {"generator": (None for _ in ()), "ellipsis": ..., "NotImplementedType": NotImplemented}


class Broken(Exception):
    """What came is no message: cut short, too long, or not of the form that was asked for."""


def send(stream: BinaryIO, message: object) -> None:
    """Write a message, as one line."""
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read a message; Broken where there is none."""
    line = stream.readline(LARGEST)
    if not line.endswith(b"\n"):
        raise Broken("a message was cut short, or is too long")
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Broken("what came is no message") from error


def written(value: Any, depth: int = DEEP) -> Any:
    """A value as JSON has it. Only exact types are looked at, so nothing of the value is called."""
    kind = type(value)
    if kind in (bool, type(None)):
        return value
    if kind in (int, float, complex):
        return {"kind": kind.__name__, "text": repr(value) if kind is not int else hex(value)}
    if kind is str:
        return value[:TEXT].encode("utf-8", "replace").decode()
    if (kind is np.ndarray and value.dtype.kind in "biufcSU") or kind in SCALARS:
        return {"kind": "array" if kind is np.ndarray else "scalar", "npy": _npy(value)}
    if is_tensor(value):
        return _tensor(value)
    if kind in (list, tuple) and depth and len(value) <= MANY:
        return {"kind": kind.__name__, "of": [written(one, depth - 1) for one in value]}
    if kind is dict and depth and len(value) <= MANY:
        pairs = [[written(one, depth - 1) for one in pair] for pair in value.items()]
        return {"kind": "dict", "of": pairs}
    return {"kind": "other", "module": str(kind.__module__), "name": str(kind.__qualname__)}


def read(given: Any, depth: int = DEEP) -> Any:
    """The value that was written; Broken for what `written` never writes."""
    if given is None or type(given) in (bool, str):
        return given
    if not isinstance(given, dict) or depth < 0:
        raise Broken("a value is of no kind that is known")
    try:
        return _read_kind(given, depth)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, EOFError) as error:
        raise Broken("a value is not what it says it is") from error


def _read_kind(given: dict, depth: int) -> Any:
    match given["kind"]:
        case "int":
            return int(given["text"], 16)
        case "float":
            return float(given["text"])
        case "complex":
            return complex(given["text"])
        case "array":
            return _array(given["npy"])
        case "scalar":
            return _array(given["npy"])[()]
        case "tensor":
            import torch

            return torch.from_numpy(_array(given["npy"])).to(getattr(torch, TYPES[given["type"]]))
        case "list" | "tuple" as name:
            return CONTAINERS[name](read(one, depth - 1) for one in given["of"])
        case "dict":
            return {read(key, depth - 1): read(one, depth - 1) for key, one in given["of"]}
        case "other":
            return _stranger(given["module"], given["name"])
    raise Broken("a value is of no kind that is known")


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of PyTorch, of no class of its own."""
    return TORCH in sys.modules and type(value) is sys.modules[TORCH].Tensor


def _tensor(value: Any) -> dict:
    """A tensor as an array and the name of its type: NumPy has no bfloat16."""
    name = str(value.dtype).removeprefix("torch.")
    plain = value.device.type == "cpu" and value.layout is sys.modules[TORCH].strided
    if name not in TYPES or not plain:
        return {"kind": "other", "module": TORCH, "name": "Tensor"}
    value = value.detach()
    if name == "bfloat16":
        value = value.float()
    return {"kind": "tensor", "type": name, "npy": _npy(value.numpy())}


def _npy(value: Any) -> str:
    held = io.BytesIO()
    np.save(held, np.asarray(value), allow_pickle=False)
    return base64.b64encode(held.getvalue()).decode()


def _array(text: str) -> np.ndarray:
    return np.load(io.BytesIO(base64.b64decode(text)), allow_pickle=False)


def _stranger(module: str, name: str) -> object:
    """A value of another type with this name: that is all that messages say of it."""
    if module == "builtins" and name in STRANGE:
        return STRANGE[name]
    return type(str(name), (), {"__module__": str(module)})()


def written_error(error: BaseException | None) -> Any:
    """An exception as JSON has it: the name of its class, and its text."""
    if error is None:
        return None
    kind = type(error)
    try:
        text = str(error)[:TEXT]
    except BaseException:  # an exception class of the student's own
        text = ""
    return {"module": kind.__module__, "name": kind.__qualname__, "text": text}


def read_error(given: Any) -> BaseException | None:
    """An exception of the same class, if it is one of Python's or NumPy's; else of its name."""
    if given is None:
        return None
    try:
        module, name, text = (str(given[key]) for key in ("module", "name", "text"))
    except (KeyError, TypeError) as error:
        raise Broken("an error is not what it says it is") from error
    home = {"builtins": builtins, "numpy.linalg": np.linalg}.get(module)
    kind = getattr(home, name, None) if home else None
    if not (isinstance(kind, type) and issubclass(kind, BaseException)):
        kind = type(name, (Exception,), {"__module__": module})
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        if kind is KeyError:  # its text is how its key is written
            return kind(ast.literal_eval(text))
    try:
        return kind(text)
    except TypeError:  # one that takes other arguments, such as UnicodeDecodeError
        return type(name, (kind,), {"__init__": lambda self, text: None})(text)
