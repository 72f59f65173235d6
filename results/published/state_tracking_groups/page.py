"""The declared differences of the groups of state_tracking."""

from pathlib import Path
from typing import Any

from configs import state_tracking
from docs.build import markdown
from docs.build.published import STUDIES
from experiments.declared import groups


def lookups(root: Path) -> dict[str, Any]:
    folder = str(root / STUDIES / "state_tracking_groups")
    readings = groups.readings(folder)
    names = list(state_tracking.GROUPS)
    by_pair: dict[str, dict[str, str]] = {}
    for each in readings:
        is_decided = each.outcome in (groups.BETTER, groups.WORSE)
        texts = {groups.NONE: f"{each.shown}, none"}
        shown = f"**{each.shown}**" if is_decided else texts.get(each.outcome, each.shown)
        by_pair.setdefault(f"`{each.a}` − `{each.b}`", {})[each.group] = shown
    rows = [["difference", *names]]
    for pair, cells in by_pair.items():
        rows.append([pair, *(cells[name] for name in names)])
    outcomes = {(each.a, each.b, each.group): each for each in readings}
    return {
        "differences": markdown.table(rows),
        "shown": lambda a, b, group: outcomes[a, b, group].shown,
        "num_differences": str(len(readings)),
    }
