"""The picture of a run: share of fraud over time, hits by octet, the busiest addresses."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

from examples.ip_fraud.demo.checking import Findings
from examples.ip_fraud.rules import EXPECTED_SHARE, FRAUD_OCTETS

INK: Final = "#1f2933"
SOFT: Final = "#7b8794"
WATER: Final = "#1f78b4"
ALARM: Final = "#d1495b"
TOP: Final = 10
SIGMAS: Final = 3


def draw(findings: Findings, path: Path) -> Path:
    """Draw to a PNG file; needs no screen."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    style: dict[Any, Any] = {
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": SOFT,
        "axes.edgecolor": "#cbd2d9",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.12,
        "figure.constrained_layout.w_pad": 0.12,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
    }
    with plt.rc_context(style):
        figure = plt.figure(figsize=(12, 7.5))
        parts = figure.subplot_mosaic([["share", "share"], ["octets", "addresses"]])
        _draw_share(parts["share"], findings)
        _draw_octets(parts["octets"], findings)
        _draw_addresses(parts["addresses"], findings)
        figure.suptitle(_title(findings), x=0.012, ha="left", fontsize=14, fontweight="bold")
        figure.savefig(path, dpi=120)
        plt.close(figure)
    return path


def _title(findings: Findings) -> str:
    figures = findings.figures
    share = figures.fraud_records / figures.records if figures.records else 0
    return (
        f"{figures.fraud_records:,} of {figures.records:,} requests are fraud: "
        f"{share:.2%} (random addresses: {EXPECTED_SHARE:.2%})"
    )


def _draw_share(axes: Any, findings: Findings) -> None:
    """By second, with the band that chance alone would stay in."""
    seconds = sorted(findings.figures.by_second.items())
    if not seconds:
        return
    first = seconds[0][0]
    times = [(start - first) / 1_000 for start, _ in seconds]
    shares = [100 * fraud / records for _, (records, fraud) in seconds]
    spread = [
        100 * SIGMAS * (EXPECTED_SHARE * (1 - EXPECTED_SHARE) / records) ** 0.5
        for _, (records, _) in seconds
    ]
    expected = 100 * EXPECTED_SHARE
    axes.fill_between(
        times,
        [expected - width for width in spread],
        [expected + width for width in spread],
        color=WATER,
        alpha=0.12,
        lw=0,
        label=f"chance, {SIGMAS} standard deviations",
    )
    axes.axhline(expected, color=INK, lw=1, ls="--", label=f"expected {EXPECTED_SHARE:.2%}")
    axes.plot(times, shares, color=WATER, lw=1.8, marker="o", ms=4, label="found by Spark")
    axes.set_title("Share of fraud, by second of the requests")
    axes.set_xlabel("seconds")
    axes.set_ylabel("%")
    axes.margins(x=0.01)
    low, high = min(shares), max(shares)
    room = max(high - low, 2 * max(spread), 0.5)
    axes.set_ylim(max(0, min(low, expected) - room / 2), max(high, expected) + room / 2)
    axes.legend(frameon=False, ncols=3, loc="upper right")


def _draw_octets(axes: Any, findings: Findings) -> None:
    """How often each listed octet came, beside an even deal."""
    hits: Counter[str] = Counter()
    for address, count in findings.figures.hits.items():
        hits[address.partition(".")[0]] += count
    octets = sorted(FRAUD_OCTETS, key=int)
    axes.bar(octets, [hits[octet] for octet in octets], color=ALARM, width=0.7)
    even = findings.figures.records / 256
    axes.axhline(even, color=INK, lw=1, ls="--")
    axes.set_title(f"Hits by first octet; an even deal is {even:,.0f} each")
    axes.set_ylabel("requests")
    axes.tick_params(axis="x", labelsize=9, length=0)


def _draw_addresses(axes: Any, findings: Findings) -> None:
    most = sorted(findings.figures.hits.items(), key=lambda item: (-item[1], item[0]))[:TOP]
    names = [address for address, _ in reversed(most)]
    counts = [count for _, count in reversed(most)]
    bars = axes.barh(names, counts, color=ALARM, height=0.65)
    axes.bar_label(bars, padding=4, color=INK, fontsize=9)
    axes.set_title("Addresses with the most hits")
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_xticks([])
