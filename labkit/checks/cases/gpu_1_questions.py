"""Predictions and quiz of lesson 01_gpu/1_gradients_and_convolutions."""

from labkit.checks.exercise import Prediction, Quiz

PREDICTIONS = [
    Prediction(
        "gpu.macs_per_image",
        "How many multiply-adds does the network need to classify one image?",
        "multiply-adds",
        low=1e3,
        high=1e12,
    ),
    Prediction(
        "gpu.conv_share",
        "What percentage of one training step's FLOP is in the two convolutions?",
        "%",
        low=1,
        high=100,
    ),
    Prediction(
        "gpu.h200_speedup",
        "At their roofs, how many times faster is a step on an H200 than on a laptop CPU?",
        "times",
        low=1e-3,
        high=1e9,
    ),
]

QUIZZES = [
    Quiz(
        "gpu.quiz_1_shape",
        "x is [N, 3, 32, 32] and w is [8, 3, 5, 5], with stride 2 and padding 2. What is the "
        "shape of y?",
        {
            "a": "[N, 8, 16, 16]",
            "b": "[N, 8, 14, 14]",
            "c": "[N, 3, 16, 16]",
            "d": "[N, 8, 32, 32]",
        },
        "a",
        {
            "a": "(32 + 2*2 - 5) // 2 + 1 = 31 // 2 + 1 = 16, and K = 8 channels come out.",
            "b": "This forgets the padding.",
            "c": "The channels that come out are counted by K, not by C.",
            "d": "This forgets the stride.",
        },
    ),
    Quiz(
        "gpu.quiz_1_plus_equals",
        "Why does the gradient of x need `+=` where im2col used `=`?",
        {
            "a": "Because dx starts at zero.",
            "b": "Because one pixel is read by several windows, and each sends back a share.",
            "c": "Because there are N images.",
        },
        "b",
        {
            "a": "It does, and yet a plain `=` would do if each pixel were reached only once.",
            "b": "Copying to several places in the forward pass means adding from them in the "
            "backward pass.",
            "c": "Images do not share pixels; each one has its own slice of dx.",
        },
    ),
    Quiz(
        "gpu.quiz_1_bound",
        "A ReLU on a large array becomes 30 times faster on a GPU. Which figure of the two "
        "machines explains that?",
        {"a": "FLOP/s", "b": "memory bandwidth", "c": "number of cores"},
        "b",
        {
            "a": "ReLU does 2 FLOP for every 20 bytes; the arithmetic units mostly wait.",
            "b": "Its intensity lies far left of the ridge, so its roof is bandwidth times "
            "intensity.",
            "c": "Cores add FLOP/s, and FLOP/s is not what limits ReLU.",
        },
    ),
]
