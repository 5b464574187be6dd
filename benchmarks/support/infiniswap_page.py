"""The measured sections of the page about Infiniswap, each from one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from support.infiniswap_claims import as_root, best_of
from support.memory_figures import PROGRAM_MB, RULE, SEEDS
from support.pages import Row, table
from support.records import Record

NBDKIT, ONE_MACHINE = "nbdkit", "one machine: "
PAPER_RATIOS = {"memcached, ETC": "4.1", "memcached, SYS": "15.1"}
PAPER_RATIOS |= {"PostgreSQL, pgbench -S": "VoltDB: 15.4"}
SPACES = {"disk": "limited disk", "served": "device, as `--swap`", "nbdfuse": "device, nbdfuse"}
PAPER_BALANCE = {
    "max / median of the hosts": "2.36 to 1.6",
    "max / min of the hosts": "22.5 to 2.7",
    "mean of a host, MB": "1.47 times as much",
    "passes per second with 50 %": "3 to 6 times as fast",
}
PAPER_FEW = ("chapter, figure 2.18", "40.8 % → 60 %", "2.36 → 1.6", "22.5 → 2.7")
PAPER_LENDER = {"median of requests per second": "at least 0.98", "median of p99": "at most 1.04"}


@dataclass(frozen=True)
class Part:
    """`name`: of the section. `record`: of the benchmark NAME.py, or of `command`. `minutes`: that
    it takes. `needs_root`: to measure it. `page`: in docs/systems."""

    name: str
    record: str
    minutes: int
    needs_root: bool
    text: Callable[[Record], str]
    command: tuple[str, ...] = ()
    page: str = "infiniswap.md"

    @property
    def script(self) -> tuple[str, ...]:
        """The benchmark and its arguments."""
        return self.command or (f"{self.record}.py",)

    def section(self) -> str:
        """The table, and how it was made. Raises RecordMissing."""
        record = Record.read(self.record)
        return f"{self.text(record)}\n\n{self._conditions(record)}"

    def _conditions(self, record: Record) -> str:
        made = record.made
        command = as_root(record) if self.needs_root else made["command"]
        return f"`{command}`, {made['date']}, load {made['load']}."


def _device(record: Record) -> str:
    """The block device beside nbdkit."""
    text = "Requests per second, and CPU time of the serving processes per request"
    rows = []
    for case in _after(record, "remote: "):
        remote, local, disk = (f"{server}: {case}" for server in ("remote", "local", "disk"))
        rows.append(
            [
                *(case, record.peer(remote), record.measured(local), record.judged(local)),
                *(record.measured(remote), record.judged(remote)),
                *(record.measured(disk), record.judged(disk)),
            ]
        )
    head = ["", NBDKIT, "NBD server alone", "ratio", "device and lender", "ratio"]
    cells = table([*head, "the same, backup on this machine's disk", "ratio"], rows)
    return f"{text}, {best_of(record)}:\n\n{cells}"


def _programs(record: Record) -> str:
    rows = []
    for program in _after(record, "slower: "):
        for space, title in SPACES.items():
            cells = [f"{space}, {share} %: {program}" for share in (100, 75, 50)]
            if cells[0] not in record.figures:
                continue
            name = "beside the disk" if space == "served" else f"{space} beside the disk"
            judged = "" if space == "disk" else record.judged(f"{name}: {program}", 1)
            paper = PAPER_RATIOS.get(program, "") if space == "served" else ""
            read = f"{space}, read remotely: {program}"
            remotely = record.measured(read).split(" of ")[0] if space != "disk" else ""
            rows.append(
                [
                    *(program if space == "disk" else "", title, *map(record.measured, cells)),
                    *(f"{record.ratio(cells[-1]):.1f}", judged, paper, remotely),
                ]
            )
    head = ["", "swap space", "100 %", "75 %", "50 %", "100 % / 50 %", "50 %: times the disk's"]
    used = f"Each program uses about {record.option('--mb', PROGRAM_MB):g} MB."
    return f"{used}\n\n{table([*head, 'paper', 'pages read from the lender'], rows)}"


def _arrays(record: Record) -> str:
    rows = [
        [
            *(name, record.measured(f"remote: {name}"), record.peer(f"remote: {name}")),
            *(record.judged(f"remote: {name}"), record.measured(f"this disk: {name}")),
        ]
        for name in _after(record, "remote: ")
    ]
    reads = {name: record.measured(f"reads per second: {name}") for name in _disks(record)}
    limited, here = reads.items()
    head = ["", "lender", f"{limited[0]} (measured: {limited[1]})", "lender: times as fast"]
    return table([*head, f"this machine's disk ({here[1]} IOPS)"], rows)


def _disks(record: Record) -> list[str]:
    return _after(record, "reads per second: ")


def _beside(record: Record) -> str:
    """Two hosts; and one machine, if that was measured."""
    text = f"Bandwidth, and CPU time of the lending process per MiB, {best_of(record)}:"
    cases = [name for name in record.figures if not name.startswith(ONE_MACHINE)]
    places = {"two hosts": "", "one machine": ONE_MACHINE}
    has = {title: begin for title, begin in places.items() if begin + cases[0] in record.figures}
    head = [""]
    for title in has:
        head += [f"{title}: {NBDKIT}", "Motet", "ratio"]
    rows = []
    for case in cases:
        names = [begin + case for begin in has.values()]
        cells = [(record.peer(it), record.measured(it), record.judged(it)) for it in names]
        rows.append([case, *chain.from_iterable(cells)])
    return f"{text}\n\n{table(head, rows)}"


def _failures(record: Record) -> str:
    rows: list[Row] = [[name, record.measured(name), record.peer(name)] for name in record.figures]
    return table(["", "here", "paper"], rows)


def _lender(record: Record) -> str:
    seconds = _unique(name.partition(": second ")[2] for name in record.figures)
    titles = _unique(name.partition(": second ")[0] for name in _with(record, ": second "))
    rows = [
        [title, *(record.measured(f"{title}: second {second}") for second in seconds)]
        for title in titles
    ]
    medians = [
        [name, record.measured(name), record.peer(name), record.judged(name), paper]
        for name, paper in PAPER_LENDER.items()
    ]
    return "\n\n".join(
        [
            table(["second", *seconds], rows),
            table(["", "with a lender", "without", "ratio", "paper"], medians),
            f"Evicted slabs: {record.measured('evicted slabs')}.",
        ]
    )


def _balance(record: Record) -> str:
    rows = [
        [
            *(name, record.peer(name), record.measured(name)),
            *(f"{record.ratio(name):.2f}", PAPER_BALANCE.get(name, "")),
        ]
        for name in list(record.figures)[1:]
    ]
    return "\n\n".join(
        [
            f"Containers per host: {record.measured('containers per host')}.",
            table(["", "disk", "remote memory", "ratio", "paper"], rows),
        ]
    )


def _prefetch(record: Record) -> str:
    """Shares are those of the slow disk, where pages are read ahead in the same order."""
    rows = []
    for workload in _after(record, "slow disk: "):
        disk, lent = f"slow disk: {workload}", f"lender: {workload}"
        _, _, coverage, rate = record.measured(disk).split(", ")
        read_us = _change(record.peer(disk), record.measured(disk), 0)
        cpu_us = _change(record.peer(lent), record.measured(lent), 1)
        rows.append([workload, _percent(coverage), _percent(rate), read_us, cpu_us])
    blocks = [
        [name, *(_percent(side(f"buffer: {name}")) for side in (record.peer, record.measured))]
        for name in _after(record, "buffer: ")
    ]
    head = ["reads of pages", "foreseen", "hit rate", "disk of 3 ms", "CPU with a lender"]
    return "\n\n".join(
        [
            table(head, rows),
            "Blocks of 1 MiB of a `RemoteBuffer` with a lender:",
            table(["reads of blocks", "reads ahead in order", "`prefetch=True`"], blocks),
        ]
    )


def _change(before: str, after: str, place: int) -> str:
    """From one to the other, of times at this place in `31 µs, 19 µs CPU, ...`."""
    first, second = (text.split(", ")[place].split()[0] for text in (before, after))
    return f"{first} → {second} µs"


def _percent(text: str) -> str:
    return text.replace("%", " %")


def _simulation(record: Record) -> str:
    rules = [
        [
            *(name, *_percent(record.measured(f"{RULE}{name}")).split(", ")),
            *_percent(record.peer(f"{RULE}{name}")).split(", "),
        ]
        for name in _after(record, RULE)
    ]
    head = ["1,000 machines, `--kept 0.65`", "utilisation", "max/median", "max/min", "evictions"]
    few = "32 machines: "
    ratios = [
        _percent(f"{record.peer(few + name)} → {record.measured(few + name)}")
        for name in _after(record, few)
    ]
    columns = ["32 machines, without → with", *_after(record, few)]
    (seconds,) = _with(record, "CPU seconds")
    return "\n\n".join(
        [
            "Seed 0, means of the second half:",
            table([*head, "of busy slabs"], rules),
            f"On 32 machines, as in the chapter, means of {SEEDS} seeds:",
            table(columns, [["here, `--kept 0.65`", *ratios], PAPER_FEW]),
            f"The four simulations take {record.measured(seconds)} s of CPU time.",
        ]
    )


def _spill(record: Record) -> str:
    rows = [
        [
            *(name.partition("(")[2].rstrip(")"), record.measured(name), record.peer(name)),
            record.judged(name, 1),
        ]
        for name in record.figures
    ]
    return table(["disk", "epoch: lender", "epoch: disk", "ratio"], rows)


PARTS = (
    Part("device", "remote_memory", 4, False, _device),
    Part("nbdkit", "remote_memory_beside_nbdkit", 4, True, _beside),
    Part("programs", "remote_memory_programs", 5, True, _programs),
    Part("arrays", "remote_memory_arrays", 3, True, _arrays),
    Part("failures", "remote_memory_failures", 5, True, _failures),
    Part("lender", "remote_memory_lender", 2, True, _lender),
    Part("balance", "remote_memory_balance", 2, True, _balance),
    Part("prefetch", "memory_prefetch", 2, False, _prefetch),
    Part("simulation", "memory_simulation", 3, False, _simulation),
    Part(
        *("spill", "spilling_remote", 5, True, _spill, ("spilling.py", "--part", "remote")),
        page="harmony-measurements.md",
    ),
)


def _after(record: Record, beginning: str) -> list[str]:
    return [name.removeprefix(beginning) for name in record.figures if name.startswith(beginning)]


def _with(record: Record, part: str) -> list[str]:
    return [name for name in record.figures if part in name]


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, words)))
