# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
#   labkit:
#     title: Video in, video out
#     number: 9
#     minutes: 57
#     needs: [torch]
#     able: cut what a network needs out of a video; turn a filter's real numbers into registers of a circuit; say which part limits the rate of a video, and who computes it
#     runs_on: the same
# ---

# %% [markdown]
# # Video in, video out
#
# **1,584 µs or 821,773 µs.**
# On a Pynq board, a small network takes 1,584 µs for a picture in the FPGA, and 821,773 µs in the processor beside it (published by BNN-PYNQ in June 2017).
# The comparison is not quite fair: there, the processor runs the C++ from which the FPGA's circuit was made, and a program written for a processor may be faster.
# A camera may bring a picture every 16,667 µs, and of these two only the FPGA keeps up.
# The labels look the same.
# So when somebody shows us labels on a live video, *who* has computed them?
#
# ## What you will be able to do
#
# - cut what a network needs out of a video;
# - turn a filter's real numbers into registers of a circuit;
# - say which part limits the rate of a video, and who computes it.
#
# You need [lesson 8](8_the_network_on_the_board.ipynb).

# %% tags=["setup"]
# The setup cell: written by labkit build.

# %% [markdown]
# ## Predict
#
# A video is a row of pictures, called **frames**.
# Ours show test photographs of CIFAR-10, six times enlarged to 192 x 192 pixels.
# The **box** of a frame is the rectangle with the photograph.
# For 200 boxes, each with another photograph, our int8 network gives 164 right labels.
# Now each box gets 32 pixels more on every side: how many labels are right?
#
# The second prediction is about a program from an article.
# It loads the overlay with our accelerator, and then labels 20 frames by a network in PyTorch.
# The accelerator's register CYCLES, which loading sets to 0, says 73,778 after one photograph.
# What does it say after this program?

# %%
from time import perf_counter

import numpy as np

from labkit import check, convnet, figures, hint, predict, quiz
from labkit.datasets import cifar10
from labkit.fpga import VirtualBoard, quantize
from labkit.fpga.board import designs
from labkit.fpga.board.convnet_overlay import ConvNetOverlay
from labkit.provenance import counted, measured
from labkit_lessons.fpga.video_in_video_out import video_pictures
from labkit_lessons.fpga.video_in_video_out.video import frames
from labkit_lessons.fpga.video_in_video_out.video_frame import Box, widened

# STUB:
# wide_guess = predict("fpga.wide_box_right", None, "labels")
# cycles_guess = predict("fpga.trial_cycles", None, "cycles")
# BEGIN SOLUTION
wide_guess = predict("fpga.wide_box_right", 155, "labels")
cycles_guess = predict("fpga.trial_cycles", 73_778, "cycles")
# END SOLUTION

# %% [markdown]
# ## Build
#
# ### Frames
#
# `frames` gives the frames of a video one by one.
# Our video is computed: a photograph moves for two frames, then the next one comes, and `count=20` ends it.
# So we know which labels are right.
# (`frames("clip.mp4")` reads a file, and `frames("webcam")` a camera.)
#
# A board gets video through HDMI; these lines were not run for this lesson:
#
# ```python
# # BaseOverlay comes from pynq.overlays.base; it connects HDMI.
# base = BaseOverlay("base.bit")
# base.video.hdmi_in.configure()
# base.video.hdmi_in.start()
# for frame in frames(base.video.hdmi_in, count=100): ...
# ```

# %% tags=["picture"]
clip = list(frames("scene", count=20, stay=2))
print(f"pixels {clip[0].pixels.shape}, {clip[0].box}")
video_pictures.row({f"frame {n}": clip[n].pixels for n in (0, 1, 2)})

# %% [markdown]
# ### From a box to a photograph
#
# A frame is an array `[H, W, 3]`, and the network takes `[3, 32, 32]`, the colours first.
# So we cut out the box, part it into 32 rows of 32 areas, and take the mean of each area.
# Here 4 rows and 6 columns, in one colour, become 2 x 2:
#
# ```
# 10 20 30 |  0  0  0     becomes
# 40 50 64 |  0  1  5     36  1
# ---------+---------      7  9
#  7  7  7 |  9  9  9
#  7  7  7 |  9  9  9
#
# (10 + 20 + 30 + 40 + 50 + 64) / 6 = 35.67
# ( 0 +  0 +  0 +  0 +  1 +  5) / 6 = 1
# ```
#
# **Exercise `fpga.crop_and_resize`**: from a frame `[H, W, C]` make `[C, side, side]` of type uint8, where each number is a mean, rounded to the nearest whole number.
# The box is `(left, top, width, height)`, and width and height are multiples of `side`.
# No mean in the check lies halfway between two whole numbers.
# In this lesson's exercises, arrays are NumPy arrays, also those that you return, and `check` takes no other library.


# %% tags=["exercise:fpga.crop_and_resize"]
def crop_and_resize(frame, box, side):
    """frame [H, W, C] uint8, box (left, top, width, height) -> [C, side, side] uint8"""
    left, top, width, height = box
    # STUB:
    # small = np.zeros((frame.shape[2], side, side), np.uint8)
    # BEGIN SOLUTION
    cut = frame[top : top + height, left : left + width]
    areas = cut.reshape(side, height // side, side, width // side, -1)
    means = np.rint(areas.mean(axis=(1, 3)))  # [side, side, C]
    small = means.transpose(2, 0, 1).astype(np.uint8)
    # END SOLUTION
    return small


crop_and_resize = check("fpga.crop_and_resize", crop_and_resize)
small = [crop_and_resize(f.pixels, f.box, 32) for f in clip]
same = [np.array_equal(found, f.photograph) for found, f in zip(small, clip, strict=True)]
print(f"{sum(same)} of {len(clip)} boxes give back the photograph")

# %% [markdown]
# ### A filter in registers
#
# A **filter** replaces each pixel by a weighted sum of the 3 x 3 pixels around it.
# Each weight is called a **tap**.
# Our circuit `filter_3x3` streams a frame of grey pixels through lesson 3's window.
# Nine registers hold the taps as int8, and a tenth one is SHIFT:
#
# ```
# new pixel = (sum of tap x pixel) / 2^SHIFT,
#             rounded, and limited to 0 ... 255
# ```
#
# So the real tap $k$ becomes the whole number nearest to $k \cdot 2^{shift}$.
# The larger the shift, the less this rounding changes the filter, but each tap, once rounded, must lie between -128 and 127.
# Take the taps 0.1, 0.8 and -0.35:
#
# ```
# shift 7     0.1 x 128 =  12.8
#             0.8 x 128 = 102.4
#           -0.35 x 128 = -44.8   taps 13, 102, -45
# shift 8     0.1 x 256 =  25.6
#             0.8 x 256 = 204.8   does not fit: at most 127
#
# pixels 100, 50, 20:  13 x 100 + 102 x 50 - 45 x 20 = 5,500
#                      5,500 / 128 = 42.97    new pixel 43
# exactly:             0.1 x 100 + 0.8 x 50 - 0.35 x 20 = 43
# ```
#
# **Exercise `fpga.taps_and_shift`**: `kernel` is an array of real taps, of any shape.
# Return the taps as int8, and the largest shift from 0 to 15 with which all of them fit.
# With shift 0 they always do, and no tap in the check lies halfway between two whole numbers.


# %% tags=["exercise:fpga.taps_and_shift"]
def taps_and_shift(kernel):
    """kernel [R, S] of real numbers -> taps [R, S] int8, shift"""
    # STUB:
    # taps = 0 * kernel
    # shift = 0
    # BEGIN SOLUTION
    for shift in range(15, -1, -1):
        taps = np.rint(kernel * 2.0**shift)
        if taps.min() >= -128 and taps.max() <= 127:
            break
    # END SOLUTION
    return taps.astype(np.int8), shift


taps_and_shift = check("fpga.taps_and_shift", taps_and_shift)

# %% [markdown]
# ## Check
#
# Now a frame goes through the filter on the board.
# The function `filtered` takes lesson 7's road: registers by `write`, and the pixels by DMA.
# (Lesson 7's DMA had a length register of 14 bits; for this overlay we chose 26, so that 307,200 bytes go in one piece.)
# <!-- holds: 2**14 <= clip[0].pixels[:, :, 0].size == 307_200 < 2**26 -->

# %%
board = VirtualBoard(designs.filter_3x3(), designs.convnet())
board.start()

from pynq import Overlay, allocate  # once a board is there

overlay = Overlay(board.bitstreams[0])
sent, got = allocate((480, 640), "u1"), allocate((480, 640), "u1")


def filtered(grey, kernel):
    taps, shift = taps_and_shift(kernel)
    for place, value in enumerate([*np.ravel(taps), shift]):
        overlay.filter_3x3_0.write(4 * place, int(value))  # 4 bytes each
    sent[:] = grey
    overlay.axi_dma_0.recvchannel.transfer(got)
    overlay.axi_dma_0.sendchannel.transfer(sent)
    overlay.axi_dma_0.sendchannel.wait()
    overlay.axi_dma_0.recvchannel.wait()
    return np.array(got)


# %% [markdown]
# The filter `blur` takes the mean of nine pixels.
# The filter `edges` shows where a pixel is brighter than its neighbours; where it is darker, the sum is negative and becomes 0.
# How far are the board's pixels from exact ones?
# Exact means: with the real taps, limited to a byte like the board's, but with nothing rounded.
#
# In lesson 3, with a fold of 1, the window took $(H + 1)(W + 1)$ cycles, because it also steps over one row and one column of the border.
# Here a pixel passes 9 more registers on its way out, so a frame of 480 x 640 should take 481 x 641 + 9 = 308,330 cycles.
# <!-- holds: (sent.shape[0] + 1) * (sent.shape[1] + 1) + 9 == 308_330 -->

# %% tags=["picture"]
edges = np.full((3, 3), -0.5)
edges[1, 1] = 4
grey = clip[0].pixels.mean(axis=2).astype(np.uint8)
rows, seen = [], {"grey": grey}
for name, kernel in {"blur": np.full((3, 3), 1 / 9), "edges": edges}.items():
    seen[name] = filtered(grey, kernel)
    begin, end = board.traffic[-3], board.traffic[-1]  # first pixel sent, last one received
    cycles = counted(end.cycle - begin.cycle, "cycles", "the board")
    taps, shift = taps_and_shift(kernel)
    off = np.abs(seen[name] - video_pictures.exact(grey, kernel)).max()
    rows.append([name, int(taps[1, 1]), int(shift), off, cycles])
figures.table(["filter", "middle tap", "shift", "a pixel is off by at most", "a frame"], rows)
video_pictures.row({name: video_pictures.inside(clip[0].box, seen[name]) for name in seen})

# %% [markdown]
# The cycle formula is exact.
# <!-- holds: [int(row[4]) for row in rows] == [481 * 641 + 9] * 2 -->
# Rounding the result puts a pixel off by at most 0.5.
# <!-- holds: rows[1][3] <= 0.5 -->
# In `blur` the taps are off as well: each is 114 / 1,024 instead of 1 / 9, so every sum is 0.2 % too large, and with both, a pixel is off by up to 0.78 in this frame.
# <!-- holds: rows[0][1] == 114 and 2 ** rows[0][2] == 1_024 and round(100 * (9 * rows[0][1] / 2 ** rows[0][2] - 1), 1) == 0.2 -->
# <!-- holds: round(rows[0][3], 2) == 0.78 -->
# At an *assumed* clock of 100 MHz, the FPGA would filter 100,000,000 / 308,330 = 324 frames per second (predicted).
# <!-- holds: round(100_000_000 / int(cycles)) == 324 -->
# No timing tool has tested for this lesson whether a Zynq reaches that clock.
#
# ## Measure
#
# ### A live video
#
# Now the network: `ConvNetOverlay` loads the other bitstream.
# The rate is that of *this computer's* simulation, not of an FPGA.

# %% tags=["timing", "nbval-ignore-output"]
golden = quantize(convnet.load_weights(), cifar10("sample").train.images[:500])
network = ConvNetOverlay(board.bitstreams[1], golden)
screen = video_pictures.Screen()
labels = []
start = perf_counter()
for frame in clip:
    photograph = crop_and_resize(frame.pixels, frame.box, 32)
    labels.append(network.predict(photograph[None])[0])
    screen.write(frame.pixels, frame.box, cifar10("sample").class_names[labels[-1]])
print(measured(len(clip) / (perf_counter() - start), "frames/s"))

# %% [markdown]
# ### Which part limits the rate
#
# A **unit** is a part that works by itself, such as our filter or our accelerator.
# Suppose unit A filters two colours of a frame, 10 cycles each, and then unit B takes 30 cycles.
# The clock has 1,000 cycles per second, and the camera brings 25 frames per second.
#
# ```
# one frame at a time         10 + 10 + 30 = 50 cycles
#                             1,000 / 50 = 20 frames/s
# A and B at the same time,   A is busy for 20, B for 30,
#   each with another frame   so B binds
#                             1,000 / 30 = 33.3 frames/s, but
#                             the camera brings only 25
#
# here cycles = [10, 10, 30], units = [0, 0, 1],
# clock = 1,000, camera = 25; the rates are 20 and 25
# ```
#
# **Exercise `fpga.frame_rate`**: return both rates.
# Step $i$ takes `cycles[i]` for each frame, and `units[i]` is the number of the unit that does it.
# No more frames come out than the camera brings: limit both rates to `camera`, the first one as well.


# %% tags=["exercise:fpga.frame_rate"]
def frame_rate(cycles, units, clock, camera):
    """cycles [n] and units (a list) of n steps, clock in Hz, camera in frames/s -> two rates"""
    # STUB:
    # one_at_a_time = 0.0
    # together = 0.0
    # BEGIN SOLUTION
    busy = np.bincount(units, cycles)  # for each unit, its cycles for a frame
    one_at_a_time = min(camera, clock / sum(cycles))
    together = min(camera, clock / max(busy))
    # END SOLUTION
    return one_at_a_time, together


frame_rate = check("fpga.frame_rate", frame_rate)

# An overlay with both: the filter is unit 0, for three colours in turn, the accelerator unit 1.
rows = []
for camera in 60, 500:
    steps = np.array([int(cycles), int(cycles), int(cycles), 73_778])  # three colours, network
    rows.append([camera, *frame_rate(steps, [0, 0, 0, 1], 100e6, camera)])
note = "Frames/s, predicted at 100 MHz from counted cycles, without the processor's work."
figures.table(["camera", "one at a time", "together"], rows, note)

# %% [markdown]
# At 60 frames/s the camera binds.
# <!-- holds: rows[0] == [60, 60, 60] -->
# At 500, the filter sets the rate if both work together, and the sum of all steps sets it otherwise.
# <!-- holds: rows[1][2] == 100e6 / (3 * int(cycles)) < 500 and rows[1][1] == 100e6 / (3 * int(cycles) + 73_778) -->
#
# ## Explain
#
# How many labels of the live video were right, and how much does the network need a good box?
# (For the boxes we ask the golden model, which equals the accelerator bit by bit.)

# %% tags=["picture"]
right = sum(label == frame.label for label, frame in zip(labels, clip, strict=True))
print(f"live video: {right} of {len(labels)} labels right")
wide = list(frames("scene", count=200, stay=1))


def count_right(box_of):
    small = [crop_and_resize(frame.pixels, box_of(frame), 32) for frame in wide]
    answers = golden.predict(np.array(small))
    return counted(sum(answers == [frame.label for frame in wide]), "labels", "the golden model")


rows = [
    [f"{m} pixels wider on each side", count_right(lambda f, m=m: widened(f, m))] for m in (0, 32)
]
rows.append(["the whole frame", count_right(lambda frame: Box(0, 0, 640, 480))])
figures.table(["box", "right, of 200"], rows)
figures.guesses([("32 pixels wider", wide_guess, rows[1][1])])

# %% [markdown]
# What your function cuts out of a moving photograph stays the same, and so does its label.
# <!-- holds: sum(same) == len(clip) and labels[::2] == labels[1::2] -->
# Each photograph stays for two frames, so the 20 labels of the live video are only ten answers, and 16 right ones are eight photographs.
# <!-- holds: len(labels) == 20 and int(right) == 2 * 8 and len({frame.photograph.tobytes() for frame in clip}) == 10 -->
#
# In a box that is 32 pixels wider on each side, the photograph covers 192 x 192 of 256 x 256 pixels, so all in it is a quarter narrower and lower, and the background comes along.
# <!-- holds: wide[0].box.width == 192 == 0.75 * widened(wide[0], 32).width -->
# Together this costs 29 of the 164 labels.
# <!-- holds: int(rows[0][1]) == 164 and int(rows[0][1]) - int(rows[1][1]) == 29 -->
# With the whole frame, the network is hardly better than a guess, which is right for 20 of 200.
# <!-- holds: 20 <= int(rows[2][1]) < 1.2 * 20 and len(wide) == 200 -->
# **The same network gets 164, 135 or 22 of 200 labels right, by the box alone.**
# <!-- holds: [int(row[1]) for row in rows] == [164, 135, 22] -->
#
# ## On trial
#
# ### <a id="C06"></a>C06 on trial
#
# > Load an overlay, define a PyTorch model, loop `video_in.read()` -> `model(x)` -> `video_out.write()`: the CNN now runs on the FPGA
#
# As a listing:
#
# ```python
# from pynq import Overlay
# overlay = Overlay("base.bit")
# class CNN(nn.Module): ...
# model = CNN()
# while True:
#     frame = video_in.read()
#     output = model(frame)
#     video_out.write(output)
# ```
#
# As printed it does not run: `nn`, `video_in` and `video_out` are defined nowhere, and our network takes no whole frame.
# With `torch`, our weights, `frames`, and your `crop_and_resize`, the loop runs.
# The function `watch` reads CYCLES only after the last label.

# %%
import torch

model = convnet.torch_model(convnet.load_weights())


def by_pytorch(photograph):
    with torch.no_grad():
        return int(model(torch.tensor(convnet.normalise(photograph[None]))).argmax())


def watch(classify):
    seen = list(frames("scene", count=20, stay=1))
    labels = [classify(crop_and_resize(frame.pixels, frame.box, 32)) for frame in seen]
    right = sum(label == frame.label for label, frame in zip(labels, seen, strict=True))
    return labels, [int(right), int(overlay.accelerator_0.register_map.CYCLES)]


# %% [markdown]
# We load our accelerator, and PyTorch labels the frames.
# To see that the register works, the same loop then runs with the accelerator.

# %%
overlay = Overlay(board.bitstreams[1])
by_processor, processor = watch(by_pytorch)
network = ConvNetOverlay(overlay, golden)
by_fpga, fpga = watch(lambda photograph: network.predict(photograph[None])[0])
rows = [["PyTorch", *processor], ["accelerator", *fpga]]
figures.table(["who computes", "right, of 20", "CYCLES at the end"], rows)
same = sum(a == b for a, b in zip(by_processor, by_fpga, strict=True))
print(f"the same label in {same} of 20 frames")
if cycles_guess:
    print("your guess for PyTorch:", cycles_guess)
board.stop()

# %% [markdown]
# **Verdict on C06: wrong.**
# Once repaired, the loop labels frames, but PyTorch computes on the processor: in 20 frames, the accelerator counted no cycle.
# <!-- holds: len(by_processor) == 20 and processor[1] == 0 -->
#
# **So who has computed the labels?**
# The labels do not tell, but a counter in the FPGA does: loading sets CYCLES to 0, and each job counts its own cycles there, from 0.
# RESET clears it as well, and so does a START with IMAGES = 0 while no job runs.
# PyTorch's loop writes no register, so nothing could have cleared it: its 0 means that no job ran.
# <!-- holds: same == 20 and processor[1] == 0 and fpga[1] == 73_778 -->
# Our overlay computes only what a program asks of it, by writing registers and sending bytes.
# `model(frame)` does neither, so it runs on the processor, whatever overlay is loaded.
# <!-- holds: processor[0] > 0 == processor[1] -->
# Nor would the rate tell: the 821,773 µs at the top are one program's, and another may be fast enough.
#
# ## Recap
#
# **The rule to keep: if all units work at the same time, a video runs at the camera's rate or at that of the busiest unit, the processor included, whichever is less.**
# **And if CYCLES is above 0, a job has begun since the overlay was loaded; if it is 0, none has, unless somebody wrote RESET, or a START with IMAGES = 0.**
# <!-- holds: frame_rate(steps, [0, 0, 0, 1], 100e6, 500)[1] == min(500, 100e6 / max(3 * int(cycles), 73_778)) -->
# <!-- holds: processor[1] == 0 < fpga[1] -->
#
# A circuit has a rate of clock / cycles: a frame of 1,280 x 720 grey pixels takes the filter 721 x 1,281 + 9 = 923,610 cycles.
# <!-- holds: int(cycles) - 9 == 481 * 641 and 721 * 1_281 + 9 == 923_610 -->
# At 100 MHz these are 108 frames/s (predicted), so a camera with 60 still binds.
# <!-- holds: round(frame_rate(np.array([923_610]), [0], 100e6, 500)[1]) == 108 and frame_rate(np.array([923_610]), [0], 100e6, 60)[1] == 60 -->
#
# ### Outside
#
# On a Pynq board, an AXI VDMA moves frames between HDMI and memory, and AMD's Vitis Vision library has filters.
# FINN and hls4ml bring networks to FPGAs.
# In 2026, [PYNQ](https://github.com/Xilinx/PYNQ/pull/1577) deprecated the Pynq-Z1 and Z2, and [FINN](https://github.com/Xilinx/finn/pull/1659) refuses them unless one insists; its new board for teaching is the AUP-ZU3.
# None of these was run here, nor this lesson on a real board.
#
# ## Quiz
#
# Put a letter in place of each `None`.

# %%
# STUB:
# quiz("fpga.quiz_other_overlay", None)
# quiz("fpga.quiz_taps", None)
# quiz("fpga.quiz_second_filter", None)
# BEGIN SOLUTION
quiz("fpga.quiz_other_overlay", "c")
quiz("fpga.quiz_taps", "b")
quiz("fpga.quiz_second_filter", "a")
# END SOLUTION
