"""Ask once for every external link of the course (make links).

Only a definite "not there" (404 or 410) is a failure. No network, or a server that does not like
programs, says nothing about the link.
"""

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import requests

from labkit.course.config import Config, config
from labkit.course.lesson_rules import links, prose

GONE = {404, 410}


def ask(url: str) -> int:
    """The HTTP status; 0 when no answer came."""
    try:
        with requests.get(url, timeout=60, stream=True) as answer:
            return answer.status_code
    except requests.RequestException:
        return 0


def ask_all(config: Config) -> int:
    """Ask for every external link of pages and learner's notebooks; 1 if one is definitely gone."""
    found: dict[str, str] = {}  # link -> a place that has it
    for path in [*links.pages(config), *sorted(config.chapters.glob("*/*.ipynb"))]:
        name = config.relative(path)
        targets = prose.targets(links.text_of(path, config))
        found |= {t.partition("#")[0]: name for t in targets if re.match("https?://", t)}
    with ThreadPoolExecutor(max_workers=8) as pool:
        answers = [*pool.map(ask, found)]
    for status, (url, name) in zip(answers, found.items(), strict=True):
        print(f"{status or 'none':>4}  {url}  ({name})")
    gone, silent = sum(status in GONE for status in answers), answers.count(0)
    print(f"{len(found)} external links: {gone} gone, {silent} without an answer.")
    if found and silent == len(found):
        print("Not one answered: this machine has no network, so nothing was learned.")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(ask_all(config()))
