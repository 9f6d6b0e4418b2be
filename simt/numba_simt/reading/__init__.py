"""A kernel before it is translated: what its source says, and what its types are.

source        the source, parsed                   typing_rules  Numba's rules for types
webs          which reads see which assignments    signatures    those given to cuda.jit
pruning       branches that constants rule out
"""
