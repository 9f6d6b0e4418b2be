"""The project's frame: one list of packages, one test command, what no text file may hold."""

import os
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
BY_PATH = "numba-simt"  # is on no index, where a stranger could own its name
LOCK = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
PLATFORMS = [
    {"sys_platform": system, "platform_machine": machine, "python_version": v[:4]}
    | {"python_full_version": v, "extra": ""}
    for system, machine in (("linux", "x86_64"), ("darwin", "arm64"))
    for v in ("3.11.2", "3.11.9", "3.12.3")
]


# --- the lock


def locked() -> list[Requirement]:
    return [Requirement(line) for line in LOCK if not line.startswith("#")]


def holds(requirement: Requirement, platform: dict[str, str]) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(platform)


@pytest.mark.parametrize("platform", PLATFORMS, ids=lambda p: " ".join(p.values()))
def test_the_lock_pins_what_pyproject_asks_for(platform):
    pins = {}
    for pin in locked():
        (specifier,) = pin.specifier
        assert specifier.operator == "==" and "+" not in specifier.version, f"{pin} is no exact pin"
        if holds(pin, platform):
            assert pin.name not in pins, f"{pin.name} is pinned twice on one platform"
            pins[pin.name] = specifier.version
    asked = list(PROJECT["project"]["dependencies"])
    for extra in PROJECT["tool"]["labkit"]["lock"]["extras"]:
        asked += EXTRAS[extra]
    for requirement in map(Requirement, asked):
        if requirement.name == BY_PATH:
            continue
        if holds(requirement, platform):
            version = pins.get(canonicalize_name(requirement.name))
            assert version, f"{requirement.name} is not in requirements.lock: run `make lock`"
            assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"


def test_the_lock_tells_the_size_for_every_platform_and_for_each_chapter_alone():
    lines = [line.split()[2:] for line in LOCK if re.match(r"# size \S+ \d", line)]
    sizes = {name: (int(download), int(disk)) for name, download, disk in lines}
    chapters = ("gpu", "tpu", "fpga", "distributed")
    platforms = ("linux-cpu", "linux-cuda", "macos-arm64")
    assert list(sizes) == [
        p + part for p in platforms for part in ("", *(f"/{c}" for c in chapters))
    ]
    for name, (download, disk) in sizes.items():
        whole = sizes[name.partition("/")[0]]
        assert 100 < download < disk and download <= whole[0] and disk <= whole[1]


def test_torchs_cuda_packages_are_not_locked():
    """numba-cuda's compiler is (it needs no GPU); torch's libraries of kernels are not."""
    libraries = ("nvidia-cublas", "nvidia-cudnn", "nvidia-nccl", "nvidia-cusparse", "triton")
    assert not [pin.name for pin in locked() if pin.name.startswith(libraries)]


# --- one list of packages, one test command


def test_conda_takes_its_packages_from_the_lock():
    yaml = pytest.importorskip("yaml")
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    *conda, last = environment["dependencies"]
    assert {name.split("=")[0] for name in conda} == {"python", "pip", "cxx-compiler"}
    assert last == {"pip": ["-r requirements.lock", "-e ./simt", "-e ."]}
    (python,) = [name.split("=")[1] for name in conda if name.startswith("python")]
    assert python in ("3.11", "3.12")


def test_ci_runs_the_readmes_test_command_and_nothing_else():
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert commands == ["make test"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "make test" in (ROOT / "README.md").read_text("utf-8")


def test_every_extra_is_in_all():
    """But the one in the compiler's place: the same package, for older drivers."""
    (everything,) = map(Requirement, EXTRAS["all"])
    assert everything.name == "labkit"
    assert everything.extras == set(EXTRAS) - {"all", "cu12"}
    (new,), (old,) = (map(Requirement, EXTRAS[name]) for name in ("compiler", "cu12"))
    assert (new.extras, old.extras) == ({"cu13"}, {"cu12"})
    assert (new.name, new.specifier, new.marker) == (old.name, old.specifier, old.marker)


def test_python_of_the_lock_and_of_colab_are_allowed():
    allowed = Requirement(f"python{PROJECT['project']['requires-python']}").specifier
    assert not allowed.contains("3.10.9")
    assert allowed.contains("3.11.0") and allowed.contains("3.12.3")
    assert allowed.contains("3.13.0")


# --- Colab: its versions satisfy our bounds as they are


@pytest.mark.parametrize("image", ["cpu", "gpu", "tpu"])
def test_colabs_versions_satisfy_the_bounds(image):
    text = (ROOT / "tests" / "colab" / f"{image}.txt").read_text("utf-8")
    pins = [Requirement(line) for line in text.splitlines() if not line.startswith("#")]
    have = {pin.name: next(iter(pin.specifier)).version for pin in pins}
    assert {"ipykernel", "ipython", "numpy", "torch"} <= have.keys()
    for requirement in map(Requirement, PROJECT["project"]["dependencies"]):
        version = have.get(requirement.name)
        assert version, f"Colab's {image} image does not have {requirement.name}: a new download"
        assert requirement.specifier.contains(version), f"{requirement}: Colab has {version}"


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))


def test_a_freeze_is_read_also_where_it_names_addresses(tools):
    from colab_versions import versions

    freeze = """\
# Do not modify this file
jax==0.7.2
torch @ https://example.org/whl/cpu/torch-2.11.0%2Bcpu-cp313-cp313-manylinux_2_28_x86_64.whl
en_core_web_sm @ https://example.org/en_core_web_sm-3.8.0-py3-none-any.whl#sha256=19
google-colab @ file:///colabtools/dist/google_colab-1.0.0.tar.gz
nvidia-nccl-cu13==2.31.2
"""
    expected = {"jax": "0.7.2", "torch": "2.11.0+cpu", "en-core-web-sm": "3.8.0"}
    assert versions(freeze) == expected


def test_a_changed_preinstalled_package_is_named(tools):
    from colab_check import changes

    before = {"numpy": "2.1.3", "torch": "2.11.0", "six": "1.17.0"}
    after = {"numpy": "1.26.4", "torch": "2.11.0", "labkit": "0.1.0"}
    assert changes(before, after) == ["numpy 2.1.3 -> 1.26.4", "six 1.17.0 -> gone"]
    assert changes(before, before | {"labkit": "0.1.0"}) == []


def test_a_marker_of_the_lock_is_as_short_as_it_can_be(tools):
    from lock import shorten
    from packaging.markers import Marker

    linux = "python_full_version < '3.13' and sys_platform == 'linux'"
    macos = "python_full_version < '3.13' and sys_platform == 'darwin'"
    assert shorten(None) == ""
    assert shorten(Marker(f"({linux}) or ({macos})")) == ""
    arm = "python_full_version < '3.13' and platform_machine == 'arm64'"
    assert shorten(Marker(arm)) == 'sys_platform == "darwin"'
    old = "python_full_version < '3.12' and platform_machine != 'ppc'"
    assert shorten(Marker(old)) == 'python_full_version < "3.12"'
    mixed = Marker("python_full_version < '3.12' and sys_platform == 'linux'")
    assert shorten(mixed) == str(mixed)


def test_the_size_of_a_wheel_is_read_off_its_end(tools, tmp_path):
    import wheels

    path = tmp_path / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr("module.py", "x = 1\n" * 1000)  # 6,000 bytes: two blocks, and two compiled
        wheel.writestr("data.bin", b"0" * 4097)  # two blocks
    assert wheels.size(path.as_uri()) == (path.stat().st_size, 6 * 4096)


# --- text that must not be in the repository


def texts() -> list[Path]:
    """The repository's text files: what git tracks, or in a bare copy what make did not make."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0 and done.stdout:
        paths = [ROOT / name for name in done.stdout.splitlines()]
    else:
        made = {".venv", ".git", "work", "build"}
        paths = [p for p in ROOT.rglob("*") if not made & set(p.relative_to(ROOT).parts)]
    kinds = {"", ".py", ".md", ".toml", ".lock", ".yml", ".txt", ".sh", ".cfg", ".ipynb", ".json"}
    return [p for p in paths if p.suffix in kinds and p.is_file() and "cache" not in str(p.parent)]


def test_no_text_names_a_package_registrys_host():
    hosts = ("pypi" + ".org", "pytho" + "nhosted", "download.pytorch" + ".org")
    found = {
        f"{path.relative_to(ROOT)}: {host}"
        for path in texts()
        for host in hosts
        if host in path.read_text("utf-8", errors="replace")
    }
    assert len(texts()) > 50
    assert not found


def test_no_text_names_somebodys_home_folder():
    home = re.compile(r"/(?:home|Users)/\w+|/ro" + r"ot/")
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts()
        if (match := home.search(path.read_text("utf-8", errors="replace")))
    }
    assert not found
