"""What a markdown text holds: words, headings, links and anchors. Code in it is left out."""

import re
from collections import Counter

LINK = re.compile(
    r"\]\(\s*<?([^)\s>]+)"  # [text](target "title"), ![text](target)
    r"|^\s*\[[^\]]+\]:\s*<?([^\s>]+)"  # [label]: target
    r"|<(?:a|img)\b[^>]*?\b(?:href|src)\s*=\s*[\"']([^\"']+)"
    r"|<(https?://[^>\s]+)>",
    re.M,
)
ANCHOR = re.compile(r"<\w+\b[^>]*?\b(?:id|name)\s*=\s*[\"']([^\"']+)", re.I)


def without_fences(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1[^\n]*$", " ", text, flags=re.M | re.S)


def words(text: str) -> int:
    """How many words, without code blocks, formulas, HTML tags and the addresses of links."""
    text = re.sub(r"\$\$.*?\$\$", " ", without_fences(text), flags=re.S)
    text = re.sub(r"(?<![\\$])\$(?!\s)[^$]*?(?<!\s)\$", " ", text)
    text = re.sub(r"<!--.*?-->|</?\w[^>]*>", " ", text, flags=re.S)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return sum(any(c.isalnum() for c in token) for token in text.split())


def headings(text: str) -> list[tuple[int, str]]:
    """(level, text) of each heading."""
    found = re.findall(r"^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$", without_fences(text), re.M)
    return [(len(marks), re.sub(r"<[^>]*>", "", title).strip()) for marks, title in found]


def one_line(text: str) -> str:
    """The text on one line, each link as its words: for pages that lie elsewhere."""
    return " ".join(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text).split())


def targets(text: str) -> list[str]:
    """What the links and images point to, in order."""
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", without_fences(text))
    return [next(filter(None, groups)) for groups in LINK.findall(text)]


def anchors(text: str, jupyter: bool) -> set[str]:
    """Where a `#fragment` may point: headings as GitHub names them, and <a id="...">.

    JupyterLab keeps a heading's capitals and punctuation, so in a notebook that form counts too.
    """
    found, slugs = set(ANCHOR.findall(text)), Counter()
    for title in (one_line(title) for _, title in headings(text)):
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found |= {f"{slug}-{slugs[slug]}" if slugs[slug] else slug}
        found |= {title.replace(" ", "-")} if jupyter else set()
        slugs[slug] += 1
    return found
