"""Data parallel training whose state is cut over the ranks, and meshes with more than one side.

units               weights as one flat vector, a chunk of it for each rank
zero                ZeRO's stages 0 to 3 by hand, for any module: weights, gradients, moments
optimizer           an optimiser whose state is cut over the ranks
memory              the bytes that each stage keeps, by formula
fsdp2               PyTorch's own: `fully_shard`, and on a 2-D mesh
mesh_groups         ranks as the cells of a grid, and which of them form a group
two_dimensions      data x tensor and data x pipeline
trained             trainings by each stage, and what they sent and held
collective_calls    what PyTorch's own classes call, and how many bytes
pretended           1,024 ranks in one process
pictures            bytes of a rank by kind, and the ranks of a mesh
"""
