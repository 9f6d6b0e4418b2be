"""Meshes: ranks as the cells of a grid, and which of them form a group.

    mesh = Mesh({"data": 2, "tensor": 4})        # 8 ranks, the last side counts fastest

                 tensor 0  1  2  3
        data 0          0  1  2  3
        data 1          4  5  6  7

    mesh.groups("data")                          # [(0, 4), (1, 5), (2, 6), (3, 7)]
    mesh.groups("tensor")                        # [(0, 1, 2, 3), (4, 5, 6, 7)]

A group along a side holds the ranks that differ in this one coordinate. `init_device_mesh` of
PyTorch counts in the same order, and makes a process group of each.
"""

from dataclasses import dataclass
from math import prod

from labkit.errors import whole


@dataclass(frozen=True)
class Mesh:
    """A grid of ranks; ValueError for no sides, or one that is no whole number from 1 on.

    sides   how long each side is, by its name; the last one counts fastest
    """

    sides: dict[str, int]

    def __post_init__(self) -> None:
        if not self.sides:
            raise ValueError("Mesh: a mesh has one side at least.")
        for name, length in self.sides.items():
            whole(f"Mesh: {name}", length)

    @property
    def ranks(self) -> int:
        """The product of the sides."""
        return prod(self.sides.values())

    @property
    def text(self) -> str:
        """ "2 x 4 (data x tensor)"."""
        lengths = " x ".join(map(str, self.sides.values()))
        return f"{lengths} ({' x '.join(self.sides)})"

    def fits(self, ranks: int) -> "Mesh":
        """The mesh itself; ValueError where it has another number of ranks."""
        if self.ranks != ranks:
            raise ValueError(
                f"A mesh of {self.text} has {self.ranks} ranks, and there are {ranks}: "
                "the sides multiply to the number of ranks."
            )
        return self

    def coordinates(self, rank: int) -> dict[str, int]:
        """Where a rank stands, by the sides' names; ValueError where there is no such rank."""
        if not isinstance(rank, int) or not 0 <= rank < self.ranks:
            raise ValueError(f"A mesh of {self.text} has no rank {rank!r}.")
        found = {}
        for name, length in reversed(self.sides.items()):
            rank, found[name] = divmod(rank, length)
        return {name: found[name] for name in self.sides}

    def groups(self, side: str) -> list[tuple[int, ...]]:
        """The ranks that differ only along this side, group by group; ValueError for no side."""
        if side not in self.sides:
            raise ValueError(f"A mesh of {self.text} has no side {side!r}.")
        found: dict[tuple, list[int]] = {}
        for rank in range(self.ranks):
            place = self.coordinates(rank)
            others = tuple(place[name] for name in self.sides if name != side)
            found.setdefault(others, []).append(rank)
        return [tuple(group) for group in found.values()]

    def group_of(self, rank: int, side: str) -> tuple[int, ...]:
        """The group along a side that a rank is in; ValueError for no such rank or side."""
        self.coordinates(rank)
        return next(group for group in self.groups(side) if rank in group)
