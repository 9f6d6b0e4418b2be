"""The TPU room: the matrix unit, register by register; Google's TPU compiler; training on a TPU.

Each name is loaded when it is first used; `import labkit.tpu` loads neither jax nor tensorflow.

Modules (written by tools/modules.py):

arguments       What `compile_for_tpu` takes as shapes: each form, the arrays that it means, and
                their names.
bfloat16        bfloat16, the TPU's number format, in NumPy: rounding, sums, split operands, error
                bounds.
bundles         How long a Pallas kernel is: the bundles that the TPU compiler writes when it dumps
                a program.
checkpoints     Checkpoints of a training run in TensorFlow: saved whole, and taken over by the same
                run only.
compile_worker  The child process in which Google's TPU compiler runs: it may crash or hang, its
                parent may not.
compiler        What Google's TPU compiler (XLA, through libtpu) makes of a program; no TPU is
                needed.
device          Where training runs: on a TPU if this machine has one, else on virtual replicas of
                its CPU.
fingerprint     The fingerprint of a traced program: the key under which the snapshot holds its
                answer.
hlo             Reading the text of an optimised TPU program (HLO): its operations, their cycles,
                their layouts.
jax_training    The same training without TensorFlow: Keras on JAX, data-parallel over all of JAX's
                devices.
matrix_unit/    The matrix unit of a TPU: its registers, its dataflows, its tiles, its cycles.
models          The chapter's networks in Keras: the course's ConvNet, ResNet-20 and ResNet-50.
programs        Programs for the TPU compiler, in plain JAX: layers and the course's network.
same_run        One small training run, which two lessons make: in TensorFlow, and in JAX.
snapshot        The committed answers of the compiler, for machines on which it does not run.
tiled           A tiled matrix product in Pallas: its grid, blocks and memory, and the step of a
                dense layer.
tracing         A learner's function, written down: for the compiler as bytes, for the snapshot as a
                fingerprint.
train           Train a network of the chapter, on a TPU or on virtual replicas of the CPU, with one
                script:
training        Data-parallel training in TensorFlow: one loop for a TPU and for virtual replicas of
                a CPU.
"""

from importlib import import_module

_HOMES = {
    "SystolicArray": "matrix_unit.systolic",
    "compile_for_tpu": "compiler",
    "preflight": "device",
    "strategy": "device",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.tpu has no {name!r}; it has {', '.join(_HOMES)}.")
    return getattr(import_module(f"labkit.tpu.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
