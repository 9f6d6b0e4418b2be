"""The command `labkit`. Each command is a function of `labkit.course`, imported when it runs, so
that `--help` is instant.
"""

import argparse
import os
import sys
from collections.abc import Sequence

COMMANDS = {
    "doctor": "say what this machine is, what each chapter runs on here, and what to install",
    "lab": "open JupyterLab at the course's start page (further arguments go to JupyterLab)",
    "new": "make the files of a new lesson, to be written",
    "build": "build the lessons' notebooks and the course's pages from their sources",
    "verify": "run every lesson, or a chapter's, and compare with its stored outputs",
    "board": "run a virtual Pynq board for programs that use pynq, until Ctrl-C",
    "launch": "print how a program with ranks is started by torchrun, Slurm and Kubernetes",
    "race": "run a script on the SIMT machine and find the races of its kernels: numba-simt",
    "choose": "which hardware for a model, how many, how fast, how dear, and by which formula",
    "data": "show which CIFAR-10 is used here, or take a copy you already have",
    "progress": "show what you have solved so far, lesson by lesson, and where to go on",
    "handout": "write notebooks for a class on Colab, each complete in itself",
    "grade": "grade a folder of submitted notebooks: a verdict and a diagnosis for each exercise",
}
SUFFIXES = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}  # of numbers: 8b is 8e9


def number(text: str) -> float:
    """A number as on a command line: 7e9, 7b, 1.5."""
    factor = SUFFIXES.get(text[-1:].lower())
    return float(text) if factor is None else factor * float(text[:-1])


def whole_number(text: str) -> int:
    """A whole number, written as 8192 or 8e3 or 8k. ValueError if it is none."""
    found = number(text)
    if not found.is_integer():
        raise ValueError(f"{text} is not whole")
    return int(found)


whole_number.__name__ = "whole number"  # as argparse calls it when it refuses one
CHOOSE = {  # options of `labkit choose` that take a value: its type, and what it is
    "model": (str, "see below"),
    "parameters": (number, "of a model of your own, in an assumed shape: 7e9 or 7b"),
    "layers": (whole_number, "of a model of your own; needs --width"),
    "width": (whole_number, "of a model of your own; needs --layers"),
    "heads": (whole_number, "of its attention; default: of 128 numbers each"),
    "kv-heads": (whole_number, "of its keys and values; default: as many as heads"),
    "mlp-width": (whole_number, "default: 4 x width"),
    "vocabulary": (whole_number, "default: 32000"),
    "format": (str, "bf16, fp16, fp32, int8, ...; default: bf16, of the ConvNet fp32"),
    "batch": (
        whole_number,
        "serve: requests at the same time, default 1; train: sequences of a step, default 256, "
        "or images, default 64",
    ),
    "context": (whole_number, "tokens of each request or sequence; default 2048, or the longest"),
    "weights": (str, "format in which they are kept: int4, int8, fp8; default: that of --format"),
    "cache": (str, "format of keys and values; default: that of --format"),
    "prompt": (whole_number, "tokens of the context that are given: then prompts are counted"),
    "rate": (number, "requests that come each second; needs --prompt"),
    "tokens": (number, "to train on; default 1e9"),
    "images": (number, "to train the ConvNet on; default 500000"),
    "ms": (number, "time limit for an image, or for a token of each request"),
    "hours": (number, "time limit for a training"),
    "usd": (number, "budget for a million tokens or images, or for a training"),
    "most": (whole_number, "machines of a kind, at most; default 8"),
    "efficiency": (number, "share of peak and bandwidth; default: what others reached; 1: at best"),
    "memory": (number, "share of a machine's memory that the task may take; default 0.9"),
    "machines": (str, "choose among these alone, for example h100,t4"),
    "plot": (str, "draw time and price into this file: .png, .svg or .pdf"),
}
METAVARS = {"model": "KEY", "machines": "KEYS", "plot": "FILE"}
CHOOSE_TASKS = """\
serve   a language model generates text: in each step, a token for each request
train   a language model, or the course's ConvNet, is trained
image   one image goes through the course's ConvNet
"""
CHOOSE_KEYS = """\
models: gpt2 gpt3 llama2_7b llama32_1b llama31_8b llama31_70b llama31_405b convnet
machines: laptop_cpu server_cpu t4 v100 a100 a6000 h100 h200 b200 l4 l40s rtx_4090
  rtx_5090 mi300x m3_max tpu_v2 tpu_v3 tpu_v4 tpu_v5e tpu_v5p tpu_v6e pynq_z1 pynq_z2

examples:
  labkit choose serve --model llama31_8b --batch 8 --context 4096 --ms 50
  labkit choose serve --model llama31_70b --weights int4 --machines h100 --price h100=2.5
  labkit choose serve --model llama31_8b --batch 64 --context 1k --prompt 800 --rate 20
  labkit choose train --model llama31_8b --tokens 1e9 --hours 24 --usd 1000
  labkit choose image --format int8 --ms 1
"""


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(prog="labkit", description="The course Four Machines.")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    made = {name: commands.add_parser(name, help=text) for name, text in COMMANDS.items()}
    made["doctor"].add_argument("--json", action="store_true", help="print JSON")
    new = made["new"]
    new.add_argument("chapter", help="for example 03_fpga")
    new.add_argument("name", help="the lesson's name, for example adders_and_tables")
    new.add_argument("--kernel", action="store_true", help="with a kernel to write (01_gpu)")
    new.add_argument("--room", help="of its exercises' ids; course: for all machines together")
    made["build"].add_argument("wanted", nargs="?", help="lesson, chapter or source; default: all")
    made["build"].add_argument("--check", action="store_true", help="compare and examine only")
    made["build"].add_argument("--force", action="store_true", help="execute unchanged lessons too")
    made["verify"].add_argument("wanted", nargs="?", help="for example 01_gpu; default: all")
    made["board"].description = (
        "Only its user reaches the board. With --address it is at a port: "
        "Every user of this computer can read, change and fill this board."
    )
    made["board"].add_argument(
        "designs", nargs="*", help="loopback, filter_3x3, convnet; default: all"
    )
    made["board"].add_argument("--address", help="127.0.0.1, 127.0.0.2 ...; default: a socket file")
    made["launch"].add_argument("program", help="a Python program that calls launch")
    made["launch"].add_argument("--nodes", type=int, default=1, help="how many machines; default 1")
    made["launch"].add_argument("--ranks", type=int, default=2, help="on each machine; default 2")
    _add_choose(made["choose"])
    made["progress"].add_argument("--json", action="store_true", help="print JSON")
    handout = made["handout"]
    handout.add_argument("--out", required=True, metavar="DIR", help="the folder to write")
    for kind, example in (("chapter", "01_gpu"), ("lesson", "01_gpu/6_tiles 02_tpu/3_bfloat16")):
        handout.add_argument(
            f"--{kind}",
            action="extend",
            nargs="+",
            default=[],
            metavar=kind[0].upper(),
            help=f"one or several: {example}; default: all",
        )
    handout.add_argument(
        "--solutions", action="store_true", help="solved notebooks, too, into DIR-teacher"
    )
    handout.add_argument("--seed", metavar="NAME", help="draw other data for the checks' cases")
    _add_grade(made["grade"])
    made["data"].add_argument("--from", dest="path", metavar="PATH", help="the official CIFAR-10")
    return top


def _add_grade(grade: argparse.ArgumentParser) -> None:
    """The options of `labkit grade`."""
    grade.add_argument("folder", metavar="DIR", help="the folder of the submitted notebooks")
    for name, shown, text in (
        ("out", "DIR", "the folder to write; default: DIR-grades. A second call goes on in it"),
        ("lesson", "L", "the lesson to be handed in: 01_gpu/6_tiles; default: each one's own"),
        ("variant", "NAME", "note whatever was not handed out with --seed NAME"),
    ):
        grade.add_argument(f"--{name}", metavar=shown, help=text)
    grade.add_argument("--jobs", type=int, default=0, help="at a time; default: as processors")
    grade.add_argument(
        "--unprotected", action="store_true", help="run students' code without closed rooms"
    )


def _add_choose(choose: argparse.ArgumentParser) -> None:
    """The options of `labkit choose`, and what its tasks, models and machines are called."""
    choose.formatter_class = argparse.RawDescriptionHelpFormatter
    choose.usage = "labkit choose {serve,train,image} [--model KEY] [options]"
    choose.description = CHOOSE_TASKS
    choose.epilog = CHOOSE_KEYS
    choose.add_argument("task", choices=("serve", "train", "image"), help="see above")
    for name, (kind, text) in CHOOSE.items():
        choose.add_argument(f"--{name}", type=kind, metavar=METAVARS.get(name), help=text)
    for name, shown, text in (
        ("price", "MACHINE=USD/h", "your own price of a machine; may be given again"),
        ("machine", "FILE.toml", "a machine of your own (labkit/distributed/chooser/offers.py)"),
    ):
        choose.add_argument(f"--{name}", action="append", default=[], metavar=shown, help=text)
    choose.add_argument(
        "--formulas", nargs="?", const="", metavar="KEY", help="show them, of what is chosen or KEY"
    )
    choose.add_argument("--json", action="store_true", help="print JSON")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. A failure is one sentence on stderr and exit code 1, never a traceback."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["race"]:  # its words are another command's, and a script's
        return _race(words[1:])
    options, rest = parser().parse_known_args(words)
    if rest and options.command != "lab":
        parser().error(f"unrecognized arguments: {' '.join(rest)}")
    if options.command is None:
        parser().print_help()
        return 0
    from labkit.course import CourseError

    try:
        code = _run(options, rest)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output, such as `head`, has enough of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("labkit: stopped.", file=sys.stderr)
        return 130
    except (CourseError, OSError, ValueError, ImportError, RecursionError) as error:
        print(f"labkit {options.command}: {error}", file=sys.stderr)
        return 1


def _race(words: list[str]) -> int:
    """`numba-simt`, with the course's cache folder; scripts of the course find the machine, too."""
    os.environ.setdefault("LABKIT_CUDA", "simt")
    import labkit.gpu  # noqa: F401
    from numba_simt.command.main import main as numba_simt

    return numba_simt(words)


def _run(options: argparse.Namespace, rest: list[str]) -> int:
    """The command's exit code; `rest` is what goes to JupyterLab."""
    from labkit.course.config import config

    match options.command:
        case "doctor":
            from labkit.course.doctor import doctor

            print(doctor(options.json))
            return 0
        case "board":
            from labkit.fpga.board.command import serve

            return serve(options.designs, options.address)
        case "launch":
            from labkit.distributed.launching.schedulers import all_ways

            print(all_ways(options.program, options.nodes, options.ranks))
            return 0
        case "choose":
            from labkit.distributed.chooser.command import run

            return run(options)
        case "data":
            from labkit import datasets

            path = options.path
            print(datasets.import_copy(path) if path else datasets.describe())
            return 0
        case "lab":
            from labkit.course import lab

            return lab.lab(config(), rest)
        case "new":
            from labkit.course.new import new

            return new(config(), options.chapter, options.name, options.kernel, options.room)
        case "build":
            from labkit.course.build import build

            return build(config(), options.wanted, options.force, options.check)
        case "handout":
            from labkit.course.handout.command import handout

            wanted = [*options.chapter, *options.lesson]
            return handout(config(), options.out, wanted, options.solutions, options.seed or "")
        case "grade":
            from labkit.course.grading.command import grade

            return grade(
                config(),
                options.folder,
                options.out,
                options.lesson,
                options.variant,
                options.jobs,
                not options.unprotected,
            )
        case "verify":
            from labkit.course.verify import verify

            return verify(config(), options.wanted)
        case _:
            from labkit.course.progress import progress

            return progress(config(), options.json)
