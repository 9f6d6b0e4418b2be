"""The sections of the report: each module's `work(bench, earlier)` yields names and what to do.

Modules (written by tools/modules.py):

cases            What lessons predict of convolutions and of kernels handed in with a fault, tried
                 on a GPU.
compilers        The same kernels by other compilers: a tile in CUDA C++ by `nvcc`, a softmax in
                 Triton.
counted_kernels  Kernels small enough to explain, whose counters two machines compare.
counters         The SIMT machine's counters beside Nsight Compute's: equal, or by which rule they
                 differ.
energy           Energy, by the GPU's own counter: watts, and joules for arithmetic and for bytes.
handed_in        Kernels that the lessons show and do not ask for: as handed in, with their mistake,
                 and whole.
hazards          Who finds which planted mistake: the SIMT machine, and the tools of
                 compute-sanitizer.
launches         What a launch costs, and a copy: pinned memory and streams, as in two lessons on
                 training.
lessons          What the lessons Tiles and What limits a kernel predict, tried; then the rows of
                 `cases`.
limits           What fits on a multiprocessor: our limits and occupancy, beside CUDA's own.
nsight           Asks Nsight Compute's program `ncu` for metrics of the kernels of counted_kernels.
peaks            What this GPU could reach at best: its row of hardware.toml, by its name; else its
                 clocks.
planted          Kernels with one planted mistake each, and one without: who finds which?
results          Are the kernels right? The exercises' kernels and those of training, beside
                 float64.
sanitizer        Asks the tools of `compute-sanitizer` what they find in the kernels of `planted`.
speeds           How fast our kernels are beside cuBLAS, cuDNN and PyTorch: products, memory,
                 convolutions.
training         The ConvNet's layers and training steps in our kernels, beside PyTorch's.
triton_softmax   Softmax of rows in Triton: one program for each row, which fits into its registers.
"""
