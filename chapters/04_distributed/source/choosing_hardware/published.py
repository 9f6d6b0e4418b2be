"""What others published, beside what the chooser says: tokens a second, and hours of training.

gpt-fast is a short program in PyTorch that generates text for one request. Its authors measured
it on A100s of 80 GB that were limited to 330 W, after a prompt of five tokens. Meta published the
hours of its trainings on H100s.
"""

from dataclasses import replace

from labkit.distributed.chooser.fits import fit
from labkit.distributed.chooser.limits import Limits
from labkit.distributed.chooser.serving import serve
from labkit.distributed.chooser.training import train
from labkit.distributed.costs.language_models import LanguageModel, language_model
from labkit.hardware import machine
from labkit.provenance import predicted, published

GPT_FAST = (
    "the README of gpt-fast, read 2026-11, https://github.com/pytorch-labs/gpt-fast; A100 80 GB "
    "limited to 330 W, hybrid cube mesh, bf16, one request"
)
MODEL_CARD = (
    "Llama 3.1 model card, July 2024, read 2026-11, https://github.com/meta-llama/llama-models"
)
CONTEXT = 100  # tokens: 5 of the prompt, and half of 200 that are generated
TOKENS_PER_SECOND = {  # model, A100s: tokens a second; None: it does not fit
    ("llama2_7b", 1): 104.9,
    ("llama2_7b", 2): 168.84,
    ("llama2_7b", 4): 254.02,
    ("llama2_7b", 8): 328.43,
    ("llama2_70b", 1): None,
    ("llama2_70b", 2): 21.32,
    ("llama2_70b", 4): 38.01,
    ("llama2_70b", 8): 62.50,
}
TRAINING_TOKENS = 15e12  # "~15 trillion tokens"
TRAINING_CONTEXT = 8192  # tokens of a sequence: The Llama 3 Herd of Models, arXiv:2407.21783
TRAINING_BATCH = 2048  # sequences: 16 million tokens, the 405B's last steps, the same source
MOST = 2048  # H100s that are tried
PASSES = 3  # a backward pass costs two forward passes
RECOMPUTED = 4
TRAININGS = (
    "15 trillion tokens, in steps of 2,048 sequences of 8,192: the 405B's last ones, assumed for "
    "all. Attention is counted in full, with the half that the mask hides. As many H100s, of 1, 2, "
    "4, ..., 2,048, as need the fewest GPU hours; pipelines are not tried. Lesson 16's 400 of 989 "
    "TFLOP/s for the 405B, 2.5 times, is the rate of a running step; these are hours of whole "
    "trainings."
)
GPU_HOURS = {"llama31_8b": 1.46e6, "llama31_70b": 7.0e6, "llama31_405b": 30.84e6}


def llama2_70b() -> LanguageModel:
    """Llama 2 70B: the sizes of Llama 3.1 70B, with 32,000 words."""
    return replace(
        language_model("llama31_70b"),
        key="llama2_70b",
        name="Llama 2 70B",
        vocabulary=32_000,
        published=68_976_648_192,
        source="Touvron et al. 2023, Llama 2, arXiv:2307.09288",
    )


def token_rates() -> list[list]:
    """[model, A100s, tokens/s at best with a ring, as published, their ratio] of each."""
    a100 = machine("a100")
    rows = []
    for (key, count), rate in TOKENS_PER_SECOND.items():
        model = llama2_70b() if key == "llama2_70b" else language_model(key)
        workload = serve(model, "bf16", context=CONTEXT)
        if workload.memory(count, a100).value > float(a100.memory):
            rows.append([model.name, count, None, None, None])  # and none was measured
            continue
        best = predicted(
            1 / workload.plan(a100, count, 1.0).seconds.value, "tokens/s", "the chooser"
        )
        said = published(rate, "tokens/s", GPT_FAST)
        rows.append([model.name, count, best, said, float(said) / float(best)])
    return rows


def training_hours() -> list[list]:
    """[model, H100s, forward passes in a step, GPU-hours at best, as published, their ratio].

    The number of H100s is the one, of 1, 2, 4, ..., MOST, that takes the fewest GPU-hours. A step
    costs three forward passes, or four where it is recomputed to save memory.
    """
    h100 = machine("h100")
    rows = []
    for key, hours in GPU_HOURS.items():
        workload = train(key, "bf16", TRAINING_TOKENS, TRAINING_BATCH, TRAINING_CONTEXT)
        plan = fit(workload, h100, Limits(most=MOST)).plan
        total = plan.seconds.value * workload.steps.value * plan.count / 3600
        best = predicted(total, "GPU h", "the chooser")
        said = published(hours, "GPU h", MODEL_CARD)
        passes = RECOMPUTED if "recomputed" in plan.layout else PASSES
        name = language_model(key).name
        rows.append([name, plan.count, passes, best, said, float(said) / float(best)])
    return rows
