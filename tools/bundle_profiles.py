"""Write the measured profiles that come with Motet: src/motet/sim/profiles/measured.csv.

    python tools/bundle_profiles.py ../shared/profiles

From two public repositories: Gavel's `simulation_throughputs.json` (steps per second of 26 models
on V100, P100 and K80, alone, spread and in pairs; MIT) and Muri's stage times (Apache-2.0). Left
out: pairs of gangs, which Gavel did not measure (zeros throughout), speeds of 0 alone (not measured
or out of memory), and Muri's row of ResNet-18 on 32 GPUs, whose stages do not add up.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BUNDLED = Path(__file__).resolve().parents[1] / "src/motet/sim/profiles/measured.csv"
SPEED_COLUMNS = ("model", "type", "gpus", "beside", "steps_per_s", "spread_steps_per_s")
COLUMNS = (*SPEED_COLUMNS, "gpu_busy", "restart_s", "size_mb", "largest_mb")
SOURCES = """\
# Measured by others; what the columns mean: docs/reference/simulate.md.
# Speeds: Gavel (Narayanan et al., OSDI 2020), github.com/stanford-futuredata/gavel, MIT licence,
# LICENSE-gavel.txt beside this file. gpu_busy and restart_s: Muri (Zhao et al.,
# SIGCOMM 2022), github.com/Rivendile/Muri, Apache-2.0. Written by tools/bundle_profiles.py.
"""
TYPES = ("V100", "P100", "K80")
RESTARTS_OF_TIRESIAS = ("vgg16", "vgg19")
NO_SUM = ("resnet18", "32")

Row = dict[str, object]


def gavel(throughputs: Any) -> Iterator[Row]:
    """Speeds alone, then in pairs."""
    for kind in TYPES:
        spread = throughputs[f"{kind.lower()}_unconsolidated"]
        for job, measured in throughputs[kind.lower()].items():
            model, gpus = named(job)
            here = {"model": model, "type": kind, "gpus": gpus}
            if measured["null"]:
                apart = spread.get(job, {}).get("null", 0) if gpus > 1 else 0
                yield (
                    here
                    | {"steps_per_s": short(measured["null"])}
                    | ({"spread_steps_per_s": short(apart)} if apart else {})
                )
            if gpus == 1:
                for other, speeds in measured.items():
                    if other != "null":
                        beside = {"beside": named(other)[0], "steps_per_s": short(speeds[0])}
                        yield here | beside


def muri(path: Path) -> Iterator[Row]:
    """Share of an iteration in which the GPU works, and seconds to restart."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            model, gpus = row["model"], row["num_gpu"]
            if (model, gpus) == NO_SUM:
                continue
            busy = float(row["gpu_ms(resource_time_1)"]) / float(row["iteration_ms"])
            known: Row = {"model": model, "gpus": gpus, "gpu_busy": short(min(busy, 1.0))}
            if model not in RESTARTS_OF_TIRESIAS:
                known["restart_s"] = row["restart_overhead_s"]
            yield known


def named(job: str) -> tuple[str, int]:
    """`('LM (batch size 5)', 2)` as its two parts."""
    found = re.fullmatch(r"\('(.*)', (\d+)\)", job)
    assert found is not None, job
    return found[1], int(found[2])


def short(value: float) -> str:
    return f"{value:.4g}"


def main() -> None:
    """Read the folder that is named, write the file."""
    folder = Path(sys.argv[1])
    with gzip.open(folder / "gavel_simulation_throughputs.json.gz") as packed:
        throughputs = json.load(packed)
    BUNDLED.parent.mkdir(exist_ok=True)
    with BUNDLED.open("w", newline="", encoding="utf-8") as file:
        file.write(SOURCES)
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(gavel(throughputs))
        writer.writerows(muri(folder / "muri_stage_times_ms.csv"))


if __name__ == "__main__":
    main()
