"""The declared effect of repeats in alphabet."""

from pathlib import Path
from typing import Any

from configs import alphabet
from docs.build import markdown
from docs.build.published import STUDIES
from experiments.declared import common, repeats


def lookups(root: Path) -> dict[str, Any]:
    folder = str(root / STUDIES / "alphabet")
    runs = common.read([folder])

    def share(row: str, task: str) -> str:
        """Solved runs that extrapolate, over both rates and all seeds."""
        by_seed = common.counts(runs[(runs["row"] == row) & (runs["task"] == task)])
        return common.share_text(by_seed).replace("+", "")

    names = list(runs["row"].unique())
    tasks = list(runs["task"].unique())
    shares = [["model", *tasks]]
    for name in names:
        shares.append([f"`{name}`", *(share(name, task) for task in tasks)])
    texts = {
        (task, name): repeats.effect_text(effect) for task, name, effect in repeats.effects(folder)
    }
    effects = [["model", *tasks]]
    for name in names:
        cells = [texts.get((task, name), "not solved") for task in tasks]
        effects.append([f"`{name}`", *cells])
    few, some, many = alphabet.ALPHABETS
    return {
        "few": str(few),
        "some": str(some),
        "many": str(many),
        "shares": markdown.table(shares),
        "share": share,
        "effects": markdown.table(effects),
        "effect": lambda name, task: texts[task, name],
    }
