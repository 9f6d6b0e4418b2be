"""Run layer conv1 through hls4ml's C simulation: python tools/hls4ml_conv1.py --out labkit/data

hls4ml writes the layer as C++ for Vitis HLS; g++ compiles it, and it reads one image of the
embedded sample as a stream of pixels. No tool of AMD's is needed. The folder --out gets
conv1.hls4ml.npz, the outputs in each number format of `labkit.fpga.convnet.hls`, and
conv1.hls4ml.log.jsonl: versions, formats, and the SHA-256 of what went in and came out.
"""

import argparse
from pathlib import Path

from labkit.fpga.convnet import hls


def main() -> None:
    """Builds every format and writes the two files."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    steps = {name: hls.run_again(name) for name in hls.FORMATS}
    hls.write(folder, steps)
    print(f"{folder / hls.LOG}: {len(steps)} formats")


if __name__ == "__main__":
    main()
