"""The ladder as a picture: what each kernel reaches of the peak, and what the lesson estimates."""

from importlib.util import find_spec
from pathlib import Path

FILE = "ladder.png"
PREFIX = "estimate of "  # rows of the section `lessons`


def bars(report: dict) -> list[tuple[str, float, float]]:
    """Kernel, percent of the peak as measured, and as estimated."""
    found = []
    for row in report["sections"].get("lessons", {}).get("rows", []):
        numbers = row["numbers"]
        if row["what"].startswith(PREFIX) and {"of the peak", "estimate"} <= numbers.keys():
            name = row["what"].removeprefix(PREFIX)
            found.append((name, numbers["of the peak"]["value"], numbers["estimate"]["value"]))
    return found


def alt(report: dict) -> str:
    """The picture in words."""
    each = [f"{name} {here:.1f} % (estimate {there:.1f} %)" for name, here, there in bars(report)]
    return f"Share of the float32 peak that each kernel of the ladder reaches: {', '.join(each)}"


def draw(report: dict, folder: Path) -> str:
    """Draws it into the folder; what the page says of it, "" if there is nothing to draw."""
    found = bars(report)
    if not found:
        return ""
    if find_spec("matplotlib") is None:
        return "There is no picture of the ladder: Matplotlib is not installed."
    from matplotlib.figure import Figure

    names, here, there = zip(*found, strict=True)
    places = range(len(found))
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    axes.barh(places, here, color="#0072B2", height=0.6, label="measured")
    axes.plot(there, places, "D", color="#D55E00", label="estimate of the lesson, predicted")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel(f"% of the float32 peak of {report['gpu'].get('name', 'this GPU')}")
    axes.legend(frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(folder / FILE, dpi=120, metadata={"Software": None})
    return f"![{alt(report)}]({FILE})"
