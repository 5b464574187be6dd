"""The measured sections of the page about Infiniswap, each from one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

from support.infiniswap_claims import as_root, best_of
from support.memory_figures import PROGRAM_MB
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
PAPER_LENDER = {"median of requests per second": "at least 0.98", "median of p99": "at most 1.04"}


@dataclass(frozen=True)
class Part:
    """`name`: of the section. `record`: of the benchmark NAME.py. `minutes`: that it takes.
    `needs_root`: to measure it."""

    name: str
    record: str
    minutes: int
    needs_root: bool
    text: Callable[[Record], str]

    def section(self) -> str:
        """The table, and how it was made. Raises RecordMissing."""
        record = Record.read(self.record)
        return f"{self.text(record)}\n\n{_conditions(record)}"


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


PARTS = (
    Part("device", "remote_memory", 4, False, _device),
    Part("nbdkit", "remote_memory_beside_nbdkit", 4, True, _beside),
    Part("programs", "remote_memory_programs", 5, True, _programs),
    Part("arrays", "remote_memory_arrays", 3, True, _arrays),
    Part("failures", "remote_memory_failures", 5, True, _failures),
    Part("lender", "remote_memory_lender", 2, True, _lender),
    Part("balance", "remote_memory_balance", 2, True, _balance),
)


def _conditions(record: Record) -> str:
    made = record.made
    command = made["command"] if record.name == "remote_memory" else as_root(record)
    return f"`{command}`, {made['date']}, load {made['load']}."


def _after(record: Record, beginning: str) -> list[str]:
    return [name.removeprefix(beginning) for name in record.figures if name.startswith(beginning)]


def _with(record: Record, part: str) -> list[str]:
    return [name for name in record.figures if part in name]


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(filter(None, words)))
