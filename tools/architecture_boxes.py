"""Where the packages stand in the pictures of docs/architecture.md, and what is written in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A package: columns from `left` to `right`, kind (colour), caption, systems implemented."""

    left: int
    right: int
    kind: str
    caption: str
    systems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Picture:
    """One file: the packages below `root` in their layers. `behind`: arrows that may pass behind
    boxes, which hide them."""

    file: str
    title: str
    root: str
    boxes: dict[str, Box]
    behind: frozenset[tuple[str, str]] = frozenset()


INTERFACES, EXPERIMENTS, TRAINING = "user-facing", "experiments", "training"
SCHEDULING, SHARED = "decisions (pure)", "shared values (pure)"
CONTROL, EXECUTION, PURE = "control", "executor process", "values and messages"

COLOURS = {
    INTERFACES: ("#e9e4f5", "#a99bd0"),
    EXPERIMENTS: ("#fbe8d3", "#dba15f"),
    TRAINING: ("#dceafa", "#7fabdc"),
    SCHEDULING: ("#dff2e1", "#82bd8b"),
    SHARED: ("#f1f1ee", "#a8a89f"),
    CONTROL: ("#e9e4f5", "#a99bd0"),
    EXECUTION: ("#dceafa", "#7fabdc"),
    PURE: ("#f1f1ee", "#a8a89f"),
}

PACKAGES = {
    "torch": Box(24, 30, TRAINING, "for PyTorch"),
    "interfaces": Box(
        0, 24, INTERFACES, "command line and Python API; wires the packages together"
    ),
    "testbed": Box(0, 4, EXPERIMENTS, "emulated hosts"),
    "live": Box(4, 9, INTERFACES, "runs real jobs"),
    "sim": Box(9, 28, EXPERIMENTS, "replays workloads in virtual time"),
    "report": Box(16, 26, INTERFACES, "tables, figures and documents from results"),
    "apps": Box(14, 24, TRAINING, "one model per file: NMF, MLR, LDA, Lasso, ..."),
    "datasets": Box(20, 24, TRAINING, "readers, samples"),
    "aggregation": Box(7, 30, TRAINING, "one service of many jobs", ("AutoPS",)),
    "runtime": Box(
        12, 20, TRAINING, "tables, workers, servers, controller", ("Cruise's elastic runtime",)
    ),
    "remote_memory": Box(7, 26, TRAINING, "idle memory", ("Infiniswap",)),
    "transport": Box(16, 22, TRAINING, "the data plane"),
    "engine": Box(4, 12, SCHEDULING, "one step: events in, actions out"),
    "policies": Box(
        1,
        12,
        SCHEDULING,
        "",
        ("Tiresias, Gandiva, Themis, SLAQ,", "Optimus, DRF, Tetris, YARN, Harmony"),
    ),
    "allocation": Box(4, 8, SCHEDULING, "how many GPUs", ("Themis, SLAQ",)),
    "placement": Box(8, 12, SCHEDULING, "which machines", ("Tiresias, Tetris",)),
    "cruise": Box(12, 16, SCHEDULING, "workers, servers", ("Cruise",)),
    "harmony": Box(1, 4, SCHEDULING, "job groups", ("Harmony",)),
    "estimate": Box(
        1,
        16,
        SCHEDULING,
        "losses, speeds, epochs, finish times, groups",
        ("SLAQ, Optimus, Tiresias, Cruise, Harmony",),
    ),
    "insight": Box(22, 26, SCHEDULING, "why a job waited"),
    "domain": Box(0, 30, SHARED, "values, units, errors"),
}

RUNTIME = {
    "autotune": Box(0, 6, CONTROL, "measures, reconfigures", ("Cruise",)),
    "backends": Box(7, 30, CONTROL, "executors as forked processes or Ray actors"),
    "controller": Box(2, 10, CONTROL, "epochs, plans, recovery, checkpoints"),
    "executor": Box(10, 29, EXECUTION, "hosts one worker and one server"),
    "arbiter": Box(18, 22, EXECUTION, "jobs take turns", ("Harmony",)),
    "spilling": Box(22, 26, EXECUTION, "data on disk", ("Harmony",)),
    "stealing": Box(12, 18, EXECUTION, "idle workers help late ones"),
    "elastic": Box(0, 6, PURE, "reconfiguration plans"),
    "client": Box(7, 12, EXECUTION, "pulls and pushes"),
    "worker": Box(12, 25, EXECUTION, "PULL, COMP, PUSH"),
    "server": Box(25, 29, EXECUTION, "blocks, updates"),
    "wire": Box(0, 29, PURE, "messages between the processes of a job; ownership table"),
    "core": Box(0, 25, PURE, "rows, tables, schedules, options, consistency"),
    "blas_threads": Box(25, 30, PURE, "one thread"),
}

PICTURES = (
    Picture(
        "docs/_static/architecture.svg",
        "The packages of Motet in layers, with the imports between them",
        "motet",
        PACKAGES,
        frozenset(
            {
                *(("datasets", "domain"), ("report", "insight")),
                *(("apps", "runtime"), ("interfaces", "remote_memory"), ("sim", "engine")),
                *(("live", "remote_memory"), ("runtime", "cruise"), ("runtime", "transport")),
                ("sim", "remote_memory"),
            }
        ),
    ),
    Picture(
        "docs/_static/architecture-runtime.svg",
        "The packages of motet.runtime in layers, with the imports between them",
        "motet.runtime",
        RUNTIME,
    ),
)
