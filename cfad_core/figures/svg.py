"""Parts that SVG pictures share: text that is safe to show, how much room it takes, axes, legends, and the frame.

Such a picture needs no script. It stands on light and on dark pages: text and lines take the page's colour. Nothing has
an id, as several pictures may share a page.
"""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cfad_core.core.markdown import UNFIT

_LETTER = 0.63  # width of a usual letter, as a share of the font's size: that of DejaVu Sans, a wide font
TITLE_LIMIT = 200  # letters of what is shown when something is pointed at
INK = 'fill="none" stroke="currentColor"'
NAME = 'direction="ltr" unicode-bidi="isolate"'  # for text from a table, which must not turn what is around it


def plain(text: object, limit: int = 60) -> str:
    """Text from a table for HTML and SVG: one line, shortened, and nothing in it but text."""
    return html.escape(short(one_line(text), limit))


def one_line(text: object) -> str:
    """A text without line breaks and without characters that a page may not be given."""
    return " ".join(UNFIT.sub(" ", str(text)).split())


def short(text: str, limit: int) -> str:
    """The beginning of a text, of at most so many characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def fitting(text: str, letters: float) -> str:
    """A text that fits where so many usual letters do; of a longer one, its beginning and its end."""
    if _count(text[:TITLE_LIMIT]) <= letters and len(text) <= TITLE_LIMIT:
        return text
    room = (letters - 1.2) / 2.0
    start, end = _fitting_count(text, room), _fitting_count(text[::-1], room)
    return f"{text[:start].rstrip()}…{text[len(text) - end :].lstrip()}"


def wrapped(text: str, letters: float) -> tuple[str, ...]:
    """A name in one line or two of so many usual letters; of a longer one, its beginning and its end.

    Names of columns often differ in their ends alone.
    """
    if _count(text[:TITLE_LIMIT]) <= letters and len(text) <= TITLE_LIMIT:
        return (text,)
    most = _fitting_count(text, letters)
    breaks = [k + 1 for k in range(most // 3, most) if text[k] in "_ -./:"]
    cut = breaks[-1] if breaks else most
    rest = text[cut:].lstrip()
    kept = _fitting_count(rest[::-1], letters)
    if kept < len(rest):
        kept = _fitting_count(rest[::-1], letters - 1.6)
        return text[:cut].rstrip(), "…" + rest[len(rest) - kept :]
    return text[:cut].rstrip(), rest


def _fitting_count(text: str, letters: float) -> int:
    """How many characters of the beginning fit; one does in any case."""
    room, count = letters, 0
    while count < min(len(text), TITLE_LIMIT) and room >= _letters(text[count]):
        room -= _letters(text[count])
        count += 1
    return max(1, count)


def width_of(text: str, size: float) -> float:
    """About how wide a text is at this font size; rather too wide than too narrow, as fonts differ."""
    return _LETTER * size * _count(text)


def letters_in(width: float, size: float) -> float:
    """How many usual letters fit into a width at this font size."""
    return width / (_LETTER * size)


def _count(text: str) -> float:
    return sum(map(_letters, text))


def _letters(letter: str) -> float:
    """How many usual letters one takes the place of."""
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.8
    if letter in "MWmw@%—":
        return 1.55
    if letter in "fijlrt.,:;'|!()[] -":
        return 0.7
    return 1.2 if letter.isupper() else 0.85 if letter in "_sz" else 1.0


@dataclass(frozen=True)
class Axis:
    """Numbers from one place of a picture to another.

    Attributes
    ----------
    low, high : the numbers at its ends
    start, end : where these are drawn
    log : whether equal distances are equal ratios
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """Where a number is drawn; beyond the ends, at the end."""
        low, high, here = (math.log10(some) if self.log else some for some in (self.low, self.high, value))
        return self.start + (self.end - self.start) * min(1.0, max(0.0, (here - low) / ((high - low) or 1.0)))

    def ticks(self) -> list[float]:
        """A few round numbers."""
        if not self.log:
            return _round_numbers(self.low, self.high)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            inside = [d * 10.0**p for p in powers for d in digits if self.low <= d * 10.0**p <= self.high]
            if len(inside) <= 5:
                break
        kept = inside[:: max(1, math.ceil(len(inside) / 5))]
        return kept if len(kept) > 1 else [self.low, self.high]


def _round_numbers(low: float, high: float) -> list[float]:
    raw = (high - low) / 4.0
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0.0 else 1.0
    step = next(digit * power for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= raw)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def percent_tick(share: float) -> str:
    """A share on an axis: ``2.5 %``."""
    return f"{100.0 * share:.3g} %"


def path(d: str, look: str) -> str:
    """A line along a path."""
    return f'<path d="{d}" fill="none" {look}/>'


def text(x: float, y: float, words: str, look: str = "") -> str:
    """Words at a place; nothing if there are none."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{html.escape(words)}</text>' if words else ""


def titled(title: str, body: str) -> str:
    """Something that says more when it is pointed at."""
    return f"<g><title>{plain(title, TITLE_LIMIT)}</title>{body}</g>"


def legend(entries: Sequence[tuple[str, str]], y: float, width: float) -> tuple[list[str], float]:
    """Marks and what they mean, side by side, in as many lines as they need.

    Parameters
    ----------
    entries : SVG of each mark, from 0 to 22 and around a height of 0, and its words
    y : of the first line of text

    Returns
    -------
    The parts, and the y of the last line.
    """
    parts, x = [], 12.0
    for mark, words in entries:
        wide = 43.0 + width_of(words, 11.0)
        if x > 12.0 and x + wide > width + 18.0:
            x, y = 12.0, y + 19.0
        parts += [f'<g transform="translate({x:.1f} {y - 4.0:.1f})">{mark}</g>', text(x + 29.0, y, words, _WORDS)]
        x += wide
    return parts, y


_WORDS = 'font-size="11"'


def picture(title: str, said: str, parts: Iterable[str], width: float, height: float) -> str:
    """The whole picture, as wide as the page at most; ``said`` says in words what it shows."""
    label, words = html.escape(title), html.escape(one_line(said))
    # No height: it follows from the view box on a narrow page too. WeasyPrint takes "height:auto" here for no height.
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{label}" '
        'style="max-width:100%;background:transparent" fill="currentColor" '
        'font-family="system-ui, sans-serif" font-size="12">'
        f"<title>{label}</title><desc>{words}</desc>{''.join(parts)}</svg>"
    )
