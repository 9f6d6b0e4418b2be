"""The network in integers, and its numbers as words of the circuits' streams.

quantize.py, above, makes the integers from trained weights.

Modules (written by tools/modules.py):

calibration      Calibration: which scale turns a layer's real outputs into int8, judged by some
                 images.
integer_layers   The network's layers in integers: the golden model, which the hardware must equal
                 bit for bit.
packing          Values of ports: whole numbers of any width, lanes packed into words, and 32-bit
                 limbs of them.
quantize_inputs  What `quantize` is given: weights and images that fit the network, or a sentence on
                 why not.
requantize       Requantisation: from int32 sums at one scale to int8 numbers at another, with
                 integers alone.
words            A layer's arrays as the words of the RTL's streams, in its order, and back.
"""
