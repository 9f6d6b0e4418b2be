"""What a network's layers cost: floating-point operations, and bytes to and from main memory.

The counts are exact for the rules in `step_costs`. The rules describe a machine that runs one
operation after the other and keeps nothing in its caches in between. Real machines may fuse
operations and move less.
"""

from dataclasses import dataclass
from math import prod

from labkit.provenance import Quantity, counted
from labkit.shapes import fit_integer

FLOAT = 4  # bytes of a float32
LABEL = 8  # bytes of an int64
POSITION = 1  # bytes that say where in its window a maximum is
RULES = "the rules of labkit.costs"


@dataclass(frozen=True)
class Layer:
    """One layer as one image sees it, without the batch axis."""

    name: str
    kind: str  # "conv", "linear", "relu" or "pool"
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    parameters: int  # weights and biases


@dataclass(frozen=True)
class Operation:
    """One pass over memory: "forward", "dW", "dX" or "update"."""

    name: str
    flops: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class LayerCost:
    """The operations of one layer in one step, and their sums."""

    name: str
    operations: tuple[Operation, ...]

    @property
    def flops(self) -> Quantity:
        """Floating-point operations, FLOP: an addition, multiplication or comparison is one."""
        return counted(sum(o.flops for o in self.operations), "FLOP", RULES)

    @property
    def bytes(self) -> Quantity:
        """Bytes to and from main memory, read plus written."""
        moved = sum(o.bytes_read + o.bytes_written for o in self.operations)
        return counted(moved, "B", RULES)

    @property
    def intensity(self) -> Quantity:
        """Arithmetic intensity: FLOPs for each byte moved."""
        return counted(float(self.flops) / float(self.bytes), "FLOP/B", RULES)


def step_costs(layers: list[Layer], batch: int, training: bool = True) -> list[LayerCost]:
    """Costs of one training step (or one forward pass) in float32, a row for each layer.

    An addition, multiplication, comparison, exp or log is one FLOP, so a multiply-add is two. Each
    operation reads every operand once and writes every result once. With i and o the elements of a
    layer's input and output for the whole batch, w and b its weights and biases, m = o w / b its
    multiply-adds (taps that fall on padding included):

        layer         operation   FLOPs                reads               writes
        conv, linear  forward     2 m                  i + w + b           o
                      dW          2 m + o (sums db)    i + o               w + b
                      dX          2 m                  o + w               i
        relu          forward     o                    i                   o
                      dX          o                    2 o (dY and Y)      i
        pool          forward     i - o                i                   o + o positions
                      dX          0                    o + o positions     i
        loss          forward     4 o + 3 N            o + N labels        o (softmax) + 1
                      dX          2 o + N              o + N labels        o
        sgd           update      4 (w + b)            3 (w + b)           2 (w + b)

    Elements are float32, 4 bytes; a label takes 8, the position of a maximum in its window 1.
    The bias starts the sum and costs no addition. The first layer needs no dX. Pooling windows do
    not overlap. relu takes the mask of its backward pass from the stored output Y. The loss is the
    softmax cross-entropy of N images. Forward, it takes of each logit the maximum, subtraction, exp
    and sum, and of each image a log, a subtraction and a term of the mean; backward, of each logit
    a division and the factor 1/N, and of each image the -1. sgd has momentum: it reads p, g and v
    and writes p and v. A forward pass alone has no loss, no sgd and no positions.

    Raises ValueError unless `batch` is an integer of 1 or more.
    """
    fit_integer("step_costs", "batch", batch, at_least=1)
    costs = []
    for layer in layers:
        operations = _operations(layer, batch, training)
        if not training:
            operations = operations[:1]  # forward alone
        elif layer is layers[0]:
            operations = [o for o in operations if o.name != "dX"]
        costs.append(LayerCost(layer.name, tuple(operations)))
    if training:
        logits = batch * layers[-1].output_shape[0]
        parameters = sum(layer.parameters for layer in layers)
        costs.append(LayerCost("loss", _loss(logits, batch)))
        costs.append(LayerCost("sgd", (_update(parameters),)))
    return costs


def _loss(logits: int, batch: int) -> tuple[Operation, Operation]:
    """The softmax cross-entropy, forward and backward, of so many logits in all."""
    reads = FLOAT * logits + LABEL * batch
    return (
        Operation("forward", 4 * logits + 3 * batch, reads, FLOAT * (logits + 1)),
        Operation("dX", 2 * logits + batch, reads, FLOAT * logits),
    )


def _update(p: int) -> Operation:
    """sgd with momentum, of p weights and biases."""
    return Operation("update", 4 * p, FLOAT * 3 * p, FLOAT * 2 * p)


def _operations(layer: Layer, batch: int, training: bool) -> tuple[Operation, ...]:
    """The layer's rows of the table in `step_costs`, forward first."""
    i = batch * prod(layer.input_shape)
    o = batch * prod(layer.output_shape)
    if layer.kind == "relu":
        return (
            Operation("forward", o, FLOAT * i, FLOAT * o),
            Operation("dX", o, FLOAT * 2 * o, FLOAT * i),
        )
    if layer.kind == "pool":
        positions = POSITION * o if training else 0
        return (
            Operation("forward", i - o, FLOAT * i, FLOAT * o + positions),
            Operation("dX", 0, FLOAT * o + positions, FLOAT * i),
        )
    b = layer.output_shape[0]  # one bias for each output channel or feature
    w = layer.parameters - b
    m = o * w // b
    return (
        Operation("forward", 2 * m, FLOAT * (i + w + b), FLOAT * o),
        Operation("dW", 2 * m + o, FLOAT * (i + o), FLOAT * (w + b)),
        Operation("dX", 2 * m, FLOAT * (o + w), FLOAT * i),
    )
