"""`labkit choose`: its options, and a sentence for each that cannot be."""

import json
import subprocess
import sys

import pytest

from labkit.cli import main
from labkit.distributed.costs.language_models import language_models
from labkit.hardware import machines


def test_serve_train_and_image(capsys):
    assert main("choose serve --model llama31_8b --batch 8 --context 4096 --ms 20".split()) == 0
    said = capsys.readouterr().out
    cheapest = "Cheapest of the 3 in time with a price: 2 x tpu_v5e, 17.5 ms (best 11.9 ms), 1.46"
    assert said.startswith(cheapest)
    assert "With half the time" in said and "formula" not in said
    assert main("choose train --parameters 7b --tokens 1e9 --hours 24 --usd 1000".split()) == 0
    said = capsys.readouterr().out
    assert "6.7 billion parameters (32 layers x 4,096, the assumed shape nearest to 7 b" in said
    assert main("choose image --ms 1 --format int8 --formulas pynq_z1".split()) == 0
    assert "an assumed 100 MHz = 73,778 / 100 MHz = 738 µs" in capsys.readouterr().out
    assert main("choose train --model convnet --batch 8 --images 1e5 --hours 1".split()) == 0
    assert "trained on 100,000 images, 8 in a step" in capsys.readouterr().out


def test_own_sizes_and_some_machines(capsys):
    own = "choose serve --layers 2 --width 256 --heads 4 --kv-heads 2 --machines h100,t4 --json"
    assert main(f"{own} --format fp16".split()) == 0
    given = json.loads(capsys.readouterr().out)
    assert [row["machine"] for row in given["machines"]] == ["h100", "t4"]
    assert given["need"].startswith("your model of 17.8 million weights in fp16")


def test_all_of_the_memory_if_one_asks_for_it(capsys):
    eight = "choose serve --model llama31_8b --format fp16 --context 100 --machines t4 --json"
    counts = []
    for share in ("", " --memory 1", " --memory 0.4"):
        assert main((eight + share).split()) == 0
        given = json.loads(capsys.readouterr().out)
        counts.append((given["memory"], given["machines"][0]["count"]))
    assert counts == [(0.9, 2), (1.0, 1), (0.4, 4)], "16.06 GB into 16.11"


def test_numbers_as_people_write_them(capsys):
    many = "choose serve --parameters 8b --context 1e3 --batch 2k --format int8 --json"
    assert main([*many.split(), "--machines", "h100, t4"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert "nearest to 8 billion) in int8, serving 2,000 requests of 1,000 tokens" in given["need"]
    assert [row["machine"] for row in given["machines"]] == ["h100", "t4"]


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--parameters=8q", "invalid number value: '8q'"),
        ("--context=1.5", "invalid whole number value: '1.5'"),
        ("--context=inf", "invalid whole number value: 'inf'"),
        ("--batch=nan", "invalid whole number value: 'nan'"),
        ("--tokens=b", "invalid number value: 'b'"),
    ],
)
def test_what_is_no_number_is_refused_in_two_lines(capsys, option, words):
    with pytest.raises(SystemExit) as refused:
        main(["choose", "serve", "--model", "gpt2", option])
    said = capsys.readouterr().err
    assert refused.value.code == 2 and words in said and said.count("\n") == 2


def test_the_help_names_every_model_and_machine_and_its_examples_work(capsys):
    with pytest.raises(SystemExit):
        main(["choose", "--help"])
    said = capsys.readouterr().out
    keys = said.partition("models: ")[2].partition("examples:")[0].split()
    assert keys == [*language_models(), "convnet", "machines:", *machines()]
    examples = [line.split() for line in said.splitlines() if line.startswith("  labkit choose")]
    assert len(examples) == 5
    for _, *example in examples:
        assert main(example) == 0


def test_a_reader_that_has_enough_is_no_error():
    command = f"{sys.executable} -m labkit choose image | head -1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("Cheapest of the 2 with a price: t4, ") and run.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("serve --model llama_3_1_8b", "Did you mean 'llama31_8b'"),
        ("serve", "Which model?"),
        ("train --layers 4", "Give --model, or --parameters, or --layers and --width"),
        ("serve --model gpt2 --layers 4", "not both"),
        ("serve --parameters 7e9 --width 64", "--parameters alone"),
        ("serve --parameters=-7e9", "parameters is a number above 0"),
        ("serve --layers -2 --width 64", "layers is a whole number from 1 on, not -2"),
        ("serve --model gpt2 --batch 0", "batch is a whole number from 1 on, not 0"),
        ("serve --model gpt2 --tokens 5", "--tokens is for train, not serve"),
        ("serve --model gpt2 --hours 5", "--hours is for train, not serve"),
        ("train --model gpt2 --ms 5", "--ms is for serve, not train"),
        ("train --model gpt2 --images 5", "--images is for --model convnet"),
        ("train --model convnet --tokens 5", "--tokens is for language models"),
        ("image --model gpt2", "through the ConvNet, not through 'gpt2'"),
        ("serve --model convnet", "choose image"),
        ("image --machines abacus", "No machine 'abacus' in the table"),
        ("image --machines t4 --formulas h100", "The answer has no machine 'h100'"),
        ("image --format fp7", "no number format 'fp7'"),
        ("serve --model llama31_8b --context 1000000", "has 131,072 positions"),
        ("train --model llama31_8b --context 1000000", "has 131,072 positions"),
        ("train --model llama31_8b --tokens 1e300", "tokens is at most 1e+16, not 1e+300"),
        ("train --model convnet --images 1e300", "images is at most 1e+16, not 1e+300"),
        (
            "serve --model llama31_8b --prompt 2048",
            "A prompt of 2,048 tokens leaves none of the 2,048",
        ),
        ("serve --model llama31_8b --prompt 0", "prompt is a whole number from 1 on, not 0"),
        ("serve --model llama31_8b --rate 3", "A rate of requests needs their prompt"),
        ("serve --model llama31_8b --prompt 9 --rate -3", "rate is a number above 0, not -3."),
        ("serve --model llama31_8b --weights int3", "no number format 'int3'"),
        ("serve --model llama31_8b --cache big", "no number format 'big'"),
        ("train --model llama31_8b --weights int4", "--weights is for serve, not train"),
        ("train --model llama31_8b --prompt 5", "--prompt is for serve, not train"),
        ("image --rate 5", "--rate is for serve, not image"),
        ("serve --model gpt2 --price h100", "give a machine and USD for its hour above 0"),
        ("serve --model gpt2 --price h100=-1", "give a machine and USD for its hour above 0"),
        ("serve --model gpt2 --price h100=nan", "give a machine and USD for its hour above 0"),
        ("serve --model gpt2 --price h101=1", "No machine 'h101' in the table"),
        ("image --machines t4 --price h100=1", "h100 is not among the machines to choose from"),
        ("image --machine nowhere.toml", "nowhere.toml"),
        ("image --plot answer.doc", "a picture ends in .png, .svg, .pdf"),
        ("image --format bf16 --machines t4 --plot a.png", "there is nothing to draw"),
        ("image --plot no/such/folder/a.png", "no/such/folder"),
        ("train --model gpt2 --hours -3", "The time limit in hours is a number above 0, not -3."),
        ("image --ms -3", "The time limit in ms is a number above 0, not -3."),
        ("image --usd 0", "The budget is a number above 0"),
        ("image --efficiency 2", "efficiency is a share from 0 to 1"),
        ("image --memory 2", "memory is a share from 0 to 1"),
        ("image --most 0", "most is a whole number from 1 on"),
    ],
)
def test_a_failure_is_a_sentence_and_exit_code_1(capsys, arguments, words):
    assert main(["choose", *arguments.split()]) == 1
    shown = capsys.readouterr()
    assert words in shown.err and shown.err.startswith("labkit choose: ")
    assert shown.err.count("\n") == 1 and not shown.out


def test_choosing_loads_no_heavy_package():
    code = (
        "import sys; from labkit.cli import main;"
        "main('choose train --model llama31_8b'.split());"
        "print([m for m in ('torch', 'matplotlib', 'IPython', 'scipy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_alone_it_prints_the_help(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("usage: labkit") and "which hardware for a model" in said


def test_formulas_on_demand(capsys):
    asked = "choose serve --model llama31_8b --machines h100"
    for more, there in (("", False), (" --formulas", True), (" --formulas h100", True)):
        assert main((asked + more).split()) == 0
        assert ("its bandwidth: 3.35 TB/s" in capsys.readouterr().out) == there


def test_the_answer_and_the_json_of_each_count(capsys):
    asked = "choose serve --model llama31_8b --machines h100,b200 --json --efficiency 1"
    assert main(asked.split()) == 0
    given = json.loads(capsys.readouterr().out)
    fastest = given["fastest"]
    counts = {(row["machine"], row["count"]): row for row in given["counts"]}
    assert len(counts) == 8 and counts[fastest["machine"], fastest["count"]] == fastest
    assert all(fastest[name] is None for name in ("at_best", "first_token", "requests"))
    assert fastest["time"]["value"] == min(row["time"]["value"] for row in counts.values())


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_picture_in_a_file(tmp_path, capsys, ending):
    path = tmp_path / f"answer.{ending}"
    assert main(f"choose train --model llama31_8b --hours 24 --plot {path}".split()) == 0
    assert path.stat().st_size > 5000


def test_a_model_with_a_short_context_gets_that(capsys):
    assert main(["choose", "serve", "--model", "gpt2", "--machines", "h100"]) == 0
    assert "serving 1 request of 1,024 tokens" in capsys.readouterr().out
