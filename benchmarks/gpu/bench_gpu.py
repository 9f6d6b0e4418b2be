"""Our kernels on this machine's GPU, beside NVIDIA's libraries and PyTorch: `make bench-gpu`.

Needs numpy, numba, numba-cuda and torch, and no more. Writes results/gpu_<device>.json and the
table results/gpu.md; the exit code is 1 when a row failed or an H200 missed a goal. The GPU's
settings are left as they are. Without a GPU nothing is measured, and the table says so.

    --only SECTION ...   these sections; the other rows of this GPU's file are kept
    --dry-run            everything on the SIMT machine with tiny sizes: no number is written
    --results FOLDER     where to write
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from goals import GOALS_FOR, RESULTS, ROWS, SECTIONS, results, table

NEEDED = ("torch", "numba", "numba-cuda", "numpy")


def tf32() -> bool:
    """Whether PyTorch may round float32 to TF32 in products or convolutions."""
    import torch

    return torch.backends.cuda.matmul.allow_tf32 or torch.backends.cudnn.allow_tf32


def measure_rows(wanted: list[str], bench: Any, earlier: list[dict]) -> Iterator[dict]:
    """This GPU's result, after each row anew; a row that fails does not stop the next."""
    import sections
    from timing import NotHere

    today = time.strftime("%Y-%m-%d", time.gmtime())
    installed = {found.name: found.version for found in importlib.metadata.distributions()}
    versions = {name: installed[name] for name in NEEDED if name in installed}
    same = {"gpu": bench.device.name, "versions": versions, "tf32": tf32()}
    result = {**same, "dates": [], "rows": {}}
    for kept in earlier:
        if kept | same == kept:
            result = kept
    result["dates"] = sorted({*result["dates"], today})
    for name, row in ROWS.items():
        if row.section not in wanted:
            continue
        start = time.perf_counter()
        try:
            value, detail = sections.SECTIONS[row.section](bench, row.what)
            entry = {"value": value, **row._asdict(), "ok": row.reached(value)}
            result["rows"][name] = entry | {"word": "measured", "detail": detail}
            said = "right" if bench.dry else f"{value:.4g} {row.unit} ({detail})"
        except NotHere as reason:
            result["rows"][name] = {"not measured": str(reason)}
            said = f"not measured: {reason}"
        except Exception as error:
            traceback.print_exc()
            said = f"{type(error).__name__}: {error}"[:300]
            result["rows"][name] = {"failed": said}
        print(f"{name}: {said}, {time.perf_counter() - start:.1f} s", flush=True)
        yield result


def write(result: dict, folder: Path) -> None:
    """The GPU's file, and the table of all files."""
    slug = re.sub(r"\W+", "_", result["gpu"].lower())
    (folder / f"gpu_{slug}.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    (folder / "gpu.md").write_text(table(results(folder)), "utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    os.environ["LABKIT_CUDA"] = "simt" if asked.dry_run else "gpu"
    os.environ["NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS"] = "0"
    if importlib.util.find_spec("platformdirs") is None:  # which knows the folder for caches
        os.environ.setdefault("LABKIT_CACHE", f"{tempfile.gettempdir()}/labkit-{os.getuid()}")
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # labkit need not be installed
    import torch
    from timing import Gpu, Host

    asked.results.mkdir(parents=True, exist_ok=True)
    if not asked.dry_run and not torch.cuda.is_available():
        print("There is no CUDA GPU here: nothing is measured. --dry-run runs the whole logic.")
        (asked.results / "gpu.md").write_text(table(results(asked.results)), "utf-8")
        return 0
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cudnn.benchmark = True  # cuDNN may choose its fastest way
    from sections import Bench

    bench = Bench(Host() if asked.dry_run else Gpu(), asked.dry_run)
    print(f"On {bench.device.name}; TF32 is {'on' if tf32() else 'off'}.")
    earlier = results(asked.results) if len(asked.only) < len(SECTIONS) else []
    for result in measure_rows(asked.only, bench, earlier):
        if not bench.dry:
            write(result, asked.results)
    failed = [name for name, entry in result["rows"].items() if "failed" in entry]
    missed = [name for name, entry in result["rows"].items() if not entry.get("ok", True)]
    if not bench.dry:
        print(f"Missed: {', '.join(missed) or 'none'}. Failed: {', '.join(failed) or 'none'}.")
    return 1 if failed or (missed and GOALS_FOR in bench.device.name and not bench.dry) else 0


if __name__ == "__main__":
    sys.exit(main())
