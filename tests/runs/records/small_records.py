"""Small records of runs, and the files of a folder."""

from pe_lab.runs.records import record_rows


def record(run_id="0123456789abcdef", **changes):
    """A complete record, as small as they come."""
    return {
        "run_id": run_id,
        "config": {"optimizer": {"epsilon": 1e-08}, "note": "naïve"},
        "member": {"seed": 0},
        "status": "finished",
        "error": None,
        "rows": [
            record_rows.row("test", 8, 0, "exact_match", 0.5, 128),
            record_rows.row(
                "test",
                64,
                0,
                "exact_match",
                None,
                0,
                "learned has positions 0..17; length 64 asks for 129",
            ),
        ],
        "chance_levels": [],
        "curve": [],
        "cost": None,
        "exposure": None,
        "scale_ratio": None,
        "checkpoint": None,
        "provenance": {},
        **changes,
    }


def files(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file())
