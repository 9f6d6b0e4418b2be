"""Data parallel training whose state is cut over the ranks, and meshes with more than one side.

units               the weights of one module as one flat vector, a chunk of it for each rank
zero                ZeRO's stages 0 to 3 by hand: weights, gradients, AdamW's state, cut or not
memory              the bytes that each stage keeps, by formula
fsdp2               PyTorch's own: `fully_shard`, and on a 2-D mesh
mesh_groups         ranks as the cells of a grid, and which of them form a group
collective_calls    what PyTorch's own classes call, and how many bytes
pretended           1,024 ranks in one process
"""
