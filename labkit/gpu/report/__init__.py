"""What a GPU says of this course: `python -m labkit.gpu.report`, or `make gpu-report`.

One command makes a folder with report.json and report.md: are the kernels right, how fast are they
beside NVIDIA's libraries, does the SIMT machine count as the hardware does, and who finds which
planted mistake. It needs NumPy, Numba, numba-cuda and PyTorch, and no network; what else it can
use, it uses where it is there. chapters/01_gpu/measured.md says how a report comes into the course.

Modules (written by tools/modules.py):

__main__   `python -m labkit.gpu.report`: what this machine's GPU says of the course, in eight
           minutes.
folder     The folder of a report: report.json, whose form is told here, report.md, and a picture.
goals      The timed rows of the report with their goals, read from goals.toml.
machine    What the report runs on: GPU, driver, clocks, versions and tools.
page       report.md: the page of a report, for whoever has ten minutes.
picture    The ladder as a picture: what each kernel reaches of the peak, and what the lesson
           estimates.
rows       What a section of the report is made of: rows, each tried by itself, and turned into
           JSON.
runner     Runs the sections of the report, each in a process of its own with a limit in seconds.
section    One section of the report, in a process of its own: `python -m labkit.gpu.report.section
           NAME`.
sections/  The sections of the report: each module's `work(bench, earlier)` yields names and what to
           do.
tasks      The sides of a timed task: our kernels and PyTorch's functions, and what their times say.
timing     Timing a kernel so that the number means something.
"""
