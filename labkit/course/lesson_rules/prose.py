"""What a markdown text holds: words, headings, links and anchors. Code in it is left out."""

import re
from collections import Counter

LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)"  # [text](target "title"), ![text](target)
    r"|^\s*\[[^\]]+\]:\s*<?([^\s>]+)"  # [label]: target
    r"|<(?:a|img)\b[^>]*?\b(?:href|src)\s*=\s*[\"']([^\"']+)"
    r"|<(https?://[^>\s]+)>",
    re.MULTILINE,
)
ANCHOR = re.compile(r"<\w+\b[^>]*?\b(?:id|name)\s*=\s*[\"']([^\"']+)", re.IGNORECASE)
FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
DISPLAY_FORMULA = re.compile(r"\$\$.*?\$\$", re.DOTALL)
FORMULA = re.compile(r"(?<![\\$])\$(?!\s)[^$]*?(?<!\s)\$")
COMMENT_OR_TAG = re.compile(r"<!--.*?-->|</?\w[^>]*>", re.DOTALL)
TARGET = re.compile(r"\]\([^)]*\)")
LINK_WITH_WORDS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
HEADING = re.compile(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$", re.MULTILINE)


def without_fences(text: str) -> str:
    """The text without its code blocks."""
    return FENCED.sub(" ", text)


def words(text: str) -> int:
    """How many words, without code blocks, formulas, HTML tags and the addresses of links."""
    text = without_fences(text)
    text = DISPLAY_FORMULA.sub(" ", text)
    text = FORMULA.sub(" ", text)
    text = COMMENT_OR_TAG.sub(" ", text)
    text = TARGET.sub("]", text)
    return sum(any(character.isalnum() for character in token) for token in text.split())


def headings(text: str) -> list[tuple[int, str]]:
    """(level, text) of each heading."""
    found = HEADING.findall(without_fences(text))
    return [(len(marks), re.sub(r"<[^>]*>", "", title).strip()) for marks, title in found]


def one_line(text: str) -> str:
    """The text on one line, each link as its words: for pages that lie elsewhere."""
    return " ".join(LINK_WITH_WORDS.sub(r"\1", text).split())


def targets(text: str) -> list[str]:
    """What the links and images point to, in order."""
    text = CODE_SPAN.sub("", without_fences(text))
    return [link[link.lastindex] for link in LINK.finditer(text)]


def anchors(text: str, jupyter: bool) -> set[str]:
    """Where a `#fragment` may point: headings as GitHub names them, and <a id="...">.

    JupyterLab keeps a heading's capitals and punctuation, so in a notebook that form counts too.
    """
    found = set(ANCHOR.findall(text))
    times: Counter[str] = Counter()  # how often a slug came; GitHub numbers the later ones
    for _, heading in headings(text):
        title = one_line(heading)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(f"{slug}-{times[slug]}" if times[slug] else slug)
        if jupyter:
            found.add(title.replace(" ", "-"))
        times[slug] += 1
    return found
