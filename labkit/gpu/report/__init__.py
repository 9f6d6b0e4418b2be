"""What a GPU says of this course: `python -m labkit.gpu.report`, or `make gpu-report`.

One command makes a folder with report.json and report.md: are the kernels right, how fast are they
beside NVIDIA's libraries, does the SIMT machine count as the hardware does, and who finds which
planted mistake. It needs NumPy, Numba, numba-cuda and PyTorch, and no network; what else it can
use, it uses where it is there. chapters/01_gpu/measured.md says how a report comes into the course.
"""
