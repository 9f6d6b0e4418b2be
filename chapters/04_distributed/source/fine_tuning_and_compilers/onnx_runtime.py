"""The GPT in ONNX Runtime: exported, optimised and run without PyTorch.

    graph = exported(model, tokens)               # bytes: a file of the format ONNX
    plain = Session(graph, optimise=False)
    fast = Session(graph)
    fast.nodes                                    # {"Gemm": 24, "FusedMatMul": 4, ...}
    fast(tokens)                                  # logits[N,T,V]

ONNX is a format for graphs of operators. ONNX Runtime reads one, rewrites it and runs it node by
node with kernels of its own (onnxruntime.ai, "Graph Optimizations in ONNX Runtime"). We take its
levels *basic* and *extended*, whose rewriting does not depend on the processor.
"""

import contextlib
import io
import logging
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import torch

MOVES_NOTHING = ("Reshape",)  # the same numbers in another shape


def exported(model: torch.nn.Module, tokens: torch.Tensor) -> bytes:
    """The model's graph for tokens of this shape, with its weights, as a file of ONNX."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    try:
        with silent[0], silent[1], warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(model.eval(), (tokens,), dynamo=True, verbose=False)
    finally:
        logger.setLevel(level)
    return program.model_proto.SerializeToString()


class Session:
    """A graph that ONNX Runtime has read: `session(tokens)` gives the logits."""

    def __init__(self, graph: bytes, optimise: bool = True) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)  # errors
        levels = onnxruntime.GraphOptimizationLevel
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.graph_optimization_level = (
            levels.ORT_ENABLE_EXTENDED if optimise else levels.ORT_DISABLE_ALL
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "optimised.onnx"
            options.optimized_model_filepath = str(path)
            self._session = onnxruntime.InferenceSession(
                graph, options, providers=["CPUExecutionProvider"]
            )
            self.nodes = nodes_of(path.read_bytes())
        self._input = self._session.get_inputs()[0].name

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        """[N,T] -> [N,T,V]."""
        (logits,) = self._session.run(None, {self._input: tokens.numpy()})
        return torch.from_numpy(logits)


def nodes_of(graph: bytes) -> dict[str, int]:
    """How many nodes of each operator a file of ONNX has, the most frequent first."""
    import onnx

    nodes = onnx.load_from_string(graph).graph.node
    return dict(Counter(node.op_type for node in nodes).most_common())


def computing(nodes: dict[str, int]) -> int:
    """How many of the nodes write numbers: all but those that only give a new shape."""
    return sum(count for name, count in nodes.items() if name not in MOVES_NOTHING)
