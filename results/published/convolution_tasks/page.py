"""The declared tiers of convolution:tasks."""

from pathlib import Path
from typing import Any

from configs import convolution
from docs.build import markdown
from docs.build.published import STUDIES
from experiments.declared import common, tiers


def lookups(root: Path) -> dict[str, Any]:
    runs = common.read([str(root / STUDIES / "convolution_tasks")])

    def share(row: str, task: str) -> str:
        by_seed = common.counts(runs[(runs["row"] == row) & (runs["task"] == task)])
        return common.share_text(by_seed).replace("+", "")

    lines = [["task", "model", "solved runs that extrapolate", "by the rule"]]
    for task, task_runs in runs.groupby("task", sort=False):
        for row in task_runs["row"].unique():
            verdict = tiers.tier(task_runs, row) if convolution.WITH in row else ""
            lines.append([str(task), f"`{row}`", share(row, str(task)), verdict])
    return {"tiers": markdown.table(lines), "share": share}
