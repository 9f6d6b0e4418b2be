"""`make bench-gpu`: its rows and goals, its table, and all its logic without a GPU."""

import importlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numba import float32
from packaging.requirements import Requirement

from labkit.files import cache_folder

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "benchmarks" / "gpu"
NEEDED = ("numpy", "numba", "numba-cuda", "torch")
ISSUE = """
matmul: naive 1 | matmul: coalesced 7 | matmul: shared tile 11 | matmul: 1-D register tile 30
matmul: 2-D register tile 58 | matmul: vector loads 66 | matmul: tuned 72 80
tensor cores: float16 matmul 40 50 | memory: copy 90 | memory: ReLU 90 | memory: row sum 90
memory: softmax 80 | implicit GEMM: forward 60 | fusion: bias + ReLU + pool 1.5
"""


@pytest.fixture(scope="module")
def modules():
    """The script and its parts, by name."""
    sys.path.insert(0, str(HERE))
    names = ("bench_gpu", "goals", "nsight", "sections", "timing")
    yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    sys.path.remove(str(HERE))


def only_what_is_needed(folder):
    """A folder of packages with NEEDED and what these need, and no others."""
    folder.mkdir()
    waiting, done = [*NEEDED], set()
    while waiting:
        name = waiting.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform
        wanted = [Requirement(r) for r in found.requires or ()]
        new = {r.name for r in wanted if not r.marker or r.marker.evaluate({"extra": ""})} - done
        waiting += new
        done |= new
        for entry in {file.parts[0] for file in found.files}:
            here = found.locate_file(entry)
            if entry not in ("..", "__pycache__") and not (folder / entry).exists():
                (folder / entry).symlink_to(here)
    return folder


def test_a_dry_run_where_only_numpy_numba_and_torch_are_installed(tmp_path, modules):
    """Every task on the SIMT machine, every output checked twice; nothing is written."""
    packages = only_what_is_needed(tmp_path / "packages")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(packages), "OMP_NUM_THREADS": "1"}
    env |= {"LABKIT_CACHE": str(cache_folder()), "HOME": str(tmp_path)}
    code = "import importlib.util as u; print(*map(u.find_spec, ('matplotlib', 'platformdirs')))"
    for arguments, said in (
        (["-c", code], "None None"),
        ([HERE / "bench_gpu.py", "--dry-run", "--results", tmp_path / "results"], None),
    ):
        command = [sys.executable, "-S", "-B", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert said in (None, done.stdout.strip())
    assert "TF32 is off." in done.stdout  # as PyTorch says
    ran = re.findall(r"^(.*): right, [\d.]+ s$", done.stdout, re.MULTILINE)
    assert ran == [name for name in modules.goals.ROWS if not name.startswith("Nsight")]
    assert not any((tmp_path / "results").iterdir())


M_N_K = {"forward": (5, 72, 27), "dx": (3, 72, 45), "dw": (5, 27, 72)}  # of the dry run
PERCENT = {  # from the times below; copy, ReLU and softmax move 2 x 210 numbers, row sum 210 + 3
    **{f"memory: {row}": 100 * 5 / 2 for row in ("ReLU", "softmax")},
    "memory: copy": 100 * 5 / 7,
    "memory: row sum": 100 * 5 / 2 * 213 / 420,
    **{f"implicit GEMM: {row}": 100 * 11 / 2 for row in M_N_K},
}
RATES = {
    "matmul": ("ours 2 s, 343 kFLOP/s; cuBLAS 3 s, 229 kFLOP/s",),
    "tensor cores": ("ours 2 s, 343 kFLOP/s; cuBLAS 3 s, 229 kFLOP/s",),
    "memory": ("copy 336 B/s",),
    "implicit GEMM": ("ours 2 s, 9.72 kFLOP/s; cuDNN 3 s,", "tuned matmul 11 s, 1.77 kFLOP/s"),
    "training": ("ours 2 s, 0.5 images/s",),
}


def test_what_a_section_makes_of_its_times(modules, monkeypatch):
    """Ours takes 2 s and others 3 s, but copies take 7 and 5, and the matmul of "implicit" 11.

    Our side launches kernels of ours; the other side none.
    """
    from labkit.gpu.tensors import launches

    def measure(task, device):
        tasks.append(task)
        inputs = task.inputs(torch.Generator().manual_seed(0))
        times, (ours, other) = {}, known.get(task.name, (2.0, 3.0))
        for side, prepare in task.sides.items():
            launches.clear()
            prepare(inputs, tuple(torch.empty(shape) for shape in task.outputs))()
            assert bool(launches) == (side == "ours"), (task.name, side)
            seconds = ours if side == "ours" else other
            times[side] = modules.timing.Timing(seconds, 9, 9, 3, (3, 3))
        return times

    known = {"copy": (7.0, 5.0)} | {f"matmul of {row}": (11.0, 0.0) for row in M_N_K}
    monkeypatch.setattr(modules.sections, "measure", measure)
    bench = modules.sections.Bench(modules.timing.Host(), dry=True)
    for name, row in modules.goals.ROWS.items():
        if row.section == "Nsight Compute":
            continue
        tasks = []
        value, detail = modules.sections.SECTIONS[row.section](bench, row.what)
        usual = 150 if row.unit.startswith("%") else 1.5
        assert value == pytest.approx(PERCENT.get(name, usual)), name
        assert all(rate in detail for rate in RATES.get(row.section, ("ours 2 s; PyTorch 3 s",)))
        if row.section == "implicit GEMM":
            M, N, K = M_N_K[row.what]
            shapes = [tuple(t.shape) for t in tasks[1].inputs(torch.Generator())]
            assert shapes == [(M, K), (K, N)] and tasks[1].outputs == ((M, N),)


@pytest.mark.parametrize("low", [torch.float16, torch.bfloat16, None], ids=str)
def test_what_trains_in_float16_has_its_loss_scaled(modules, low):
    """A gradient of 1e-8 is 0 in float16; scaled, and divided again, it is itself."""
    torch.manual_seed(0)
    model, x = torch.nn.Linear(4, 3, bias=False), torch.rand(5, 4)

    def loss(logits, labels):
        assert logits.dtype is (low or torch.float32)
        return (logits.float() * 1e-8).sum()

    library = loss, torch.optim.SGD
    step = modules.sections.trainer(model, library, "cpu", low)((x, None), ())
    before = model.weight.detach().clone()
    for _ in range(3):
        _, gradient = step()
        torch.testing.assert_close(gradient, 1e-8 * x.sum(0).repeat(3, 1), rtol=0.03, atol=0)
    assert torch.equal(model.weight, before)


def test_autocast_is_to_the_format_that_the_device_has(modules, monkeypatch):
    given, sections = [], modules.sections
    trainer = lambda *values, **named: given.append(named.get("low"))  # noqa: E731
    monkeypatch.setattr(sections, "trainer", trainer)
    times = dict.fromkeys(("ours", "16-bit autocast"), modules.timing.Timing(1, 9, 9, 3, (3, 3)))
    monkeypatch.setattr(sections, "measure", lambda task, device: times)
    bench = sections.Bench(modules.timing.Host(), dry=True)
    for low in (torch.float16, torch.bfloat16):
        monkeypatch.setattr(sections, "sixteen_bits", lambda on, low=low: low)
        _, detail = sections.training(bench, "our kernels beside 16-bit autocast")
        assert given[-2:] == [None, low] and detail.endswith(f"in {str(low)[6:]}")


def test_kernels_that_ncu_watches_get_memory_of_the_device(modules, monkeypatch):
    """NumPy's arrays would be copied there and back at each launch, and these copies timed."""
    launched, nsight = [], modules.nsight

    class Memory:
        def __init__(self, array):
            self.array = array

        def copy_to_host(self):
            return self.array

    class Kernel:
        def __getitem__(self, configuration):
            return self.run

        def run(self, x, y):
            assert type(x) is type(y) is Memory, "copied at each launch"
            launched.append((x.array.shape, y.array.shape))
            assert np.isnan(y.array).all()
            y.array[:] = 2 * x.array

    x = np.ones(3, np.float32)
    monkeypatch.setattr(nsight, "cuda", SimpleNamespace(to_device=Memory))
    monkeypatch.setattr(nsight, "cases", lambda: {"double": (Kernel(), 1, 32, x, 2 * x)})
    nsight.launch()
    assert launched == [((3,), (3,))]


def test_make_bench_gpu_hands_its_arguments_on():
    command = ["make", "--dry-run", "--no-print-directory", "bench-gpu", "ARGS=--only matmul"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1].split() == [
        ".venv/bin/python",
        "benchmarks/gpu/bench_gpu.py",
        "--only",
        "matmul",
    ]


def test_the_goals_are_those_that_were_set(modules):
    for line in re.split(r"[|\n]", ISSUE.strip()):
        name, *numbers = re.match(r"\s*(.*?) ([\d. ]+)\s*$", line).groups()
        row = modules.goals.ROWS[name]
        limits = [limit for limit in (row.goal, row.aim) if limit is not None]
        assert limits == [float(n) for n in numbers[0].split()], name


def test_the_committed_table_is_what_the_script_generates(modules):
    committed = (ROOT / "benchmarks" / "results" / "gpu.md").read_text("utf-8")
    measured = modules.goals.results()
    assert committed == modules.goals.table(measured)
    rows = [line for line in committed.splitlines() if line.startswith("| ")]
    named = [row.what for row in modules.goals.ROWS.values()]
    assert [row.split(" | ")[0][2:] for row in rows if not row.startswith("| |")] == named
    if not measured:
        assert committed.count("not measured") == len(named)


@pytest.fixture
def gpu(modules, monkeypatch):
    """A stand-in GPU that "measures" gpu.values[row], else 100; an exception is raised."""
    stand_in = SimpleNamespace(name="NVIDIA H200", values={})

    def section(bench, row):
        value = stand_in.values.get(row, 0 if row in BY_HAND else 100.0)
        if isinstance(value, Exception):
            raise value
        return value, "ours 3 ms; theirs 2.2 ms"

    sections = SimpleNamespace(SECTIONS=dict.fromkeys(modules.goals.SECTIONS, section))
    sections.Bench = lambda device, dry: SimpleNamespace(device=device, dry=dry)
    monkeypatch.setitem(sys.modules, "sections", sections)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(modules.timing, "Gpu", lambda: stand_in)
    for name in ("LABKIT_CUDA", "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"):
        monkeypatch.setenv(name, "")  # which the script sets
    return stand_in


def test_results_and_exit_codes(modules, gpu, tmp_path, capsys):
    def run(*more):
        code = modules.bench_gpu.main(["--results", str(tmp_path), *more])
        texts = capsys.readouterr().out, (tmp_path / "gpu.md").read_text("utf-8")
        slug = gpu.name.lower().replace(" ", "_")
        return code, *texts, json.loads((tmp_path / f"gpu_{slug}.json").read_text("utf-8"))

    gpu.values["tuned"] = 73.25
    code, _, text, result = run()
    assert code == 0 and result["gpu"] == "NVIDIA H200" and result["tf32"] is False
    assert {"torch", "numba"} <= set(result["versions"]) <= {*NEEDED}
    assert len(result["dates"]) == 1
    assert result["rows"].keys() == modules.goals.ROWS.keys()
    assert result["rows"]["matmul: tuned"] == {
        "value": 73.25,
        "section": "matmul",
        "what": "tuned",
        "unit": "% of cuBLAS",
        "goal": 72,
        "aim": 80,
        "ok": True,
        "word": "measured",
        "detail": "ours 3 ms; theirs 2.2 ms",
    }
    assert "| tuned | 72 (aim 80) % of cuBLAS | 73.2; ours 3 ms; theirs 2.2 ms |" in text
    assert "not measured" not in text

    gpu.values |= {"copy": RuntimeError("the kernel stopped"), "tuned": 1.0, "ReLU": 91.0}
    gpu.values["polynomial"] = modules.timing.NotHere("no ncu")
    code, said, text, kept = run("--only", "memory", "Nsight Compute")
    assert code == 1 and "Missed: none. Failed: memory: copy." in said  # the ladder is kept
    assert kept["rows"]["matmul: tuned"] == result["rows"]["matmul: tuned"]
    assert kept["rows"]["memory: copy"] == {"failed": "RuntimeError: the kernel stopped"}
    assert kept["rows"]["memory: ReLU"]["value"] == 91.0  # a failure does not stop the next row
    assert "| copy | 90 % of PyTorch's copy bandwidth | failed |" in text
    assert "| polynomial | 0 differences | not measured |" in text

    gpu.values["copy"] = 95.0
    (tmp_path / "gpu_nvidia_h200.json").write_text(json.dumps(kept | {"dates": ["2001-01-01"]}))
    assert run("--only", "layers")[3]["dates"] == ["2001-01-01", *result["dates"]]
    code, said, text, anew = run()
    assert anew["dates"] == result["dates"]
    assert code == 1 and "Missed: matmul: tuned. Failed: none." in said
    assert "| 1 (missed); ours 3 ms" in text

    gpu.name = "Tesla T4"  # the goals are an H200's: shown, but nothing fails
    code, said, text, _ = run()
    assert code == 0 and "Missed: matmul: tuned" in said
    assert "| | goal | NVIDIA H200 | Tesla T4 |" in text


@pytest.mark.parametrize("flag", ["matmul", "cudnn"])
def test_the_file_says_whether_tf32_was_on(modules, gpu, tmp_path, monkeypatch, capsys, flag):
    """The script turns it off; here something turns it on again."""
    where = {"matmul": torch.backends.cuda.matmul, "cudnn": torch.backends.cudnn}[flag]

    def device():
        where.allow_tf32 = on or where.allow_tf32
        return gpu

    monkeypatch.setattr(modules.timing, "Gpu", device)
    for on, section in ((False, "matmul"), (True, "fusion")):
        where.allow_tf32 = True
        try:
            assert modules.bench_gpu.main(["--results", str(tmp_path), "--only", section]) == 0
        finally:
            where.allow_tf32 = False
        assert f"TF32 is {'on' if on else 'off'}." in capsys.readouterr().out
        result = json.loads((tmp_path / "gpu_nvidia_h200.json").read_text("utf-8"))
        assert result["tf32"] is on
    assert [*result["rows"]] == ["fusion: bias + ReLU + pool"]  # not mixed with those without TF32


def test_without_a_gpu_nothing_is_measured_and_the_table_says_so(
    modules, monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("LABKIT_CUDA", "")
    assert modules.bench_gpu.main(["--results", str(tmp_path)]) == 0
    assert "no CUDA GPU here" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["gpu.md"]
    assert (tmp_path / "gpu.md").read_text("utf-8") == modules.goals.table([])


def test_a_difference_of_counters_fails_only_when_it_is_not_0(modules):
    row = modules.goals.ROWS["Nsight Compute: transpose"]
    assert row.reached(0) and not row.reached(1)
    assert modules.goals.ROWS["layers: fc1"].reached(0.01)  # no goal


def test_a_formula_of_metrics_is_taken_apart(modules):
    sass = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum".format
    assert modules.nsight.terms("flops_fp32") == [
        (1, sass("fadd")),
        (1, sass("fmul")),
        (2, sass("ffma")),
    ]
    both = modules.nsight.terms("traffic_bytes")
    assert both == [(1, f"l1tex__t_bytes_pipe_lsu_mem_global_op_{w}.sum") for w in ("ld", "st")]
    for name in modules.nsight.COMPARED:
        assert all(re.fullmatch(r"[\w.]+", metric) for _, metric in modules.nsight.terms(name))


# What a GPU must count, by hand. Lanes 32, sectors of 32 B; the arrays begin at a sector.
# kernel: loads and stores of global memory (requests, sectors, bytes), then of shared memory
# (requests, transactions, conflicts), FLOP. 10,000 = 312 warps and 16 lanes; 5,001 = 156 and 9.
BY_HAND = {
    "shifted copy": [(313, 312 * 5 + 3, 40000), (313, 1250, 40000), (0, 0, 0), (0, 0, 0), 0],
    "strided copy": [(157, 156 * 8 + 3, 20004), (157, 156 * 4 + 2, 20004), (0, 0, 0), (0, 0, 0), 0],
    "transpose": [(192, 768, 24576), (192, 768, 24576), (192, 6144, 5952), (192, 192, 0), 0],
    "padded transpose": [(192, 768, 24576), (192, 768, 24576), (192, 192, 0), (192, 192, 0), 0],
    "polynomial": [(313, 1251, 40004), (313, 1251, 40004), (0, 0, 0), (0, 0, 0), 40004],
}
NCU = """#!/bin/sh
case "$LC_ALL" in C) ;; *) exit 8 ;; esac
case "$*" in *{unknown}*) echo "==ERROR== Failed to find metric {unknown}"; exit 9 ;; esac
case "$*" in *"--clock-control none"*) echo "==PROF== Connected to process 1" ;; esac
cat {table}
[ -z "$LAUNCH" ] && exit ${{STATUS:-0}}
shift $(($# - 2))
LABKIT_CUDA=simt exec "$@"
"""


def stand_in(modules, folder, monkeypatch, script):
    """`ncu` is this script."""
    (folder / "ncu").write_text(script)
    (folder / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    modules.nsight.ask.cache_clear()


def ncu_of(modules, folder, monkeypatch, change=lambda rows: rows, unknown="none_such"):
    """An `ncu` on the PATH that tells BY_HAND, in the form that the real one writes."""
    metric = {name: modules.nsight.COUNTERS[name].nsight for name in modules.nsight.COMPARED}
    rows = []
    for i, counts in enumerate(BY_HAND.values()):
        told = {}
        ways = ("global_load", "global_store", "shared_load", "shared_store")
        kinds = {"global": ("requests", "sectors", "bytes")}
        kinds["shared"] = ("requests", "transactions", "conflicts")
        for way, numbers in zip(ways, counts[:4], strict=True):
            space, verb = way.split("_")
            told |= {
                metric[f"{way}_{kind}"]: n for kind, n in zip(kinds[space], numbers, strict=True)
            }
            if space == "global":
                op = {"load": "ld", "store": "st"}[verb]
                told[f"l1tex__t_bytes_pipe_lsu_mem_global_op_{op}.sum"] = 32 * numbers[1]
        fused = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
        told |= {fused.format(op): 0 for op in ("fadd", "fmul")}
        told |= {fused.format("ffma"): counts[4] // 2}
        rows += [[str(i), name, f"{n:,}"] for name, n in told.items()]
    lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
    lines += [f'"{i}","k","{name}","inst","{value}"' for i, name, value in change(rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    script = NCU.format(table=folder / "table.csv", unknown=unknown)
    stand_in(modules, folder, monkeypatch, script)
    return {row: modules.nsight.compare(None, row) for row in BY_HAND}


def test_counters_equal_those_of_a_gpu_counted_by_hand(modules, tmp_path, monkeypatch):
    monkeypatch.setenv("LAUNCH", "yes")  # the program that ncu watches runs, on the SIMT machine
    found = ncu_of(modules, tmp_path, monkeypatch)
    everything = len(modules.nsight.COMPARED)
    assert found == dict.fromkeys(BY_HAND, (0, f"{everything} of {everything} equal"))


def test_a_counter_that_differs_is_told_and_may_be_explained(modules, tmp_path, monkeypatch):
    def one_more(rows):
        metric = modules.nsight.COUNTERS["global_load_sectors"].nsight
        return [[i, m, "1,564" if (i, m) == ("0", metric) else n] for i, m, n in rows]

    found = ncu_of(modules, tmp_path, monkeypatch, one_more)
    assert [n for n, _ in found.values()] == [1, 0, 0, 0, 0]
    detail = found["shifted copy"][1]
    assert "13 of 14 equal" in detail
    assert "global_load_sectors 1563, on the GPU 1564: not explained" in detail
    why = {("shifted copy", "global_load_sectors"): "a reason"}
    monkeypatch.setattr(modules.nsight, "EXPLAINED", why)
    differ, detail = modules.nsight.compare(None, "shifted copy")
    assert differ == 0 and "1564: a reason" in detail


def test_metrics_that_ncu_cannot_read_are_left_out_and_named(modules, tmp_path, monkeypatch):
    unknown = modules.nsight.COUNTERS["shared_load_conflicts"].nsight
    hidden = modules.nsight.COUNTERS["global_load_bytes"].nsight

    def change(rows):
        return [[i, m, "n/a" if m == hidden else n] for i, m, n in rows if m != unknown]

    found = ncu_of(modules, tmp_path, monkeypatch, change, unknown)
    said = "12 of 14 equal; global_load_bytes, shared_load_conflicts cannot be read"
    assert found == dict.fromkeys(BY_HAND, (0, said))


def test_where_ncu_reads_nothing_the_rows_are_not_measured(modules, tmp_path, monkeypatch):
    def unread(rows):
        return [[i, metric, "n/a"] for i, metric, _ in rows]

    with pytest.raises(modules.timing.NotHere, match="reads none"):
        ncu_of(modules, tmp_path, monkeypatch, unread)


def test_where_ncu_knows_no_metric_the_rows_are_not_measured(modules, tmp_path, monkeypatch):
    script = """#!/bin/sh
    for word; do case "$word" in *.sum*) metrics=$(echo "$word" | tr , ' ') ;; esac; done
    for metric in $metrics; do echo "==ERROR== Failed to find metric $metric"; done
    exit 9"""
    stand_in(modules, tmp_path, monkeypatch, script)
    with pytest.raises(modules.timing.NotHere, match="reads none"):
        modules.nsight.compare(None, "transpose")


def test_numbers_of_ncu_are_read_whole_or_not_at_all(modules, tmp_path, monkeypatch):
    read = modules.nsight.number
    for text, value in (("1.2e+06", 1.2e6), ("1,234,567", 1234567), ("40.50", 40.5), ("0", 0)):
        assert read(text) == value
    for text in ("n/a", "", "1.234,5", "1.234.567", "12,34", "-", "1e", "inf", "nan", "0x1F"):
        assert math.isnan(read(text)), text
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    def exponents(rows):
        return [[i, metric, f"{int(n.replace(',', '')):.6e}"] for i, metric, n in rows]

    found = ncu_of(modules, tmp_path, monkeypatch, exponents)
    assert found == dict.fromkeys(BY_HAND, (0, "14 of 14 equal"))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '==ERROR== no permission'; exit 1", "no table: .*no permission"),
        ("", "no table"),
        ("echo said on the error channel >&2", "no table: said on"),
        ('echo \'"ID","Metric Name","Metric Value"\'', "no table"),
        ('printf \'"ID","Metric Name","Metric Value"\\n"0","m","1"\\n\'', "no table"),
    ],
)
def test_an_ncu_that_gives_no_table_fails_with_its_words(
    modules, tmp_path, monkeypatch, script, said
):
    stand_in(modules, tmp_path, monkeypatch, f"#!/bin/sh\n{script}\n")
    with pytest.raises(RuntimeError, match=said):
        modules.nsight.compare(None, "transpose")


def test_a_table_of_an_ncu_that_failed_is_not_read(modules, tmp_path, monkeypatch):
    monkeypatch.setenv("STATUS", "3")
    with pytest.raises(RuntimeError, match="no table"):
        ncu_of(modules, tmp_path, monkeypatch)


def test_an_ncu_that_may_not_read_counters_is_told_so(modules, tmp_path, monkeypatch):
    script = "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1\n"
    stand_in(modules, tmp_path, monkeypatch, script)
    with pytest.raises(modules.timing.NotHere, match="may not read"):
        modules.nsight.compare(None, "transpose")


def test_without_ncu_the_rows_are_not_measured(modules, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    modules.nsight.ask.cache_clear()
    with pytest.raises(modules.timing.NotHere, match="is not here"):
        modules.nsight.compare(None, "transpose")


def test_a_compiler_makes_of_these_kernels_what_the_source_says(modules):
    """One load and one store of each kind, and fused arithmetic: no reason to differ."""
    pytest.importorskip("numba_cuda")
    from labkit.gpu import compile_report

    shared = {"ld.shared": 1, "st.shared": 1}
    for name, (kernel, _, _, x, _) in modules.nsight.cases().items():
        array = float32[:, ::1] if x.ndim == 2 else float32[::1]
        found = compile_report(kernel, (array, array), "sm_90")
        expected = {"ld.global": 1, "st.global": 1} | (shared if "transpose" in name else {})
        assert found.accesses == expected and found.fma == 2 * (name == "polynomial"), name


def test_what_ncu_watches_is_right(modules, monkeypatch):
    """The same launches on the SIMT machine; a kernel that is wrong stops them."""
    modules.nsight.launch()
    kernel, *rest, right = modules.nsight.cases()["polynomial"]
    monkeypatch.setattr(modules.nsight, "cases", lambda: {"wrong": (kernel, *rest, right + 1)})
    with pytest.raises(SystemExit, match="wrong"):
        modules.nsight.launch()
