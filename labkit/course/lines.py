"""`labkit lines`: how many lines of Python each room of labkit has, against the course's budget."""

from collections import Counter

from labkit.course.config import Config

BUDGET = 12_000
GROUND = "ground floor"  # the modules that lie directly in labkit/


def lines(config: Config) -> int:
    """Print lines per room, `data/` left out; 1 if labkit is over its budget."""
    package = config.course_root() / "labkit"
    rooms: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        room, *inner = path.relative_to(package).parts
        if room != "data":
            rooms[room if inner else GROUND] += len(path.read_text(encoding="utf-8").splitlines())
    for room, number in sorted(rooms.items()):
        print(f"{room:<14} {number:>7,}")
    over = rooms.total() - BUDGET
    print(f"{'all':<14} {rooms.total():>7,}  of {BUDGET:,}")
    if over > 0:
        print(f"labkit has {over:,} lines more than its budget of {BUDGET:,}.")
    return 1 if over > 0 else 0
