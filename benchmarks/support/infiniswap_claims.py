"""Claims about Infiniswap, from records."""

from __future__ import annotations

from collections.abc import Mapping

from support.claims import Claim, span
from support.memory_figures import LOST, NO_EVENT, REPEAT
from support.records import Record

INFINISWAP = (
    "remote_memory",
    "remote_memory_beside_nbdkit",
    "remote_memory_programs",
    "remote_memory_arrays",
    "remote_memory_faults",
    "remote_memory_failures",
    "remote_memory_lender",
    "remote_memory_balance",
    "memory_prefetch",
    "memory_simulation",
)


def as_root(record: Record) -> str:
    """The command of a measurement that needs root."""
    command = record.made["command"]
    return command if command.startswith("sudo ") else f"sudo {command}"


def best_of(record: Record) -> str:
    """How many runs of a case there were."""
    runs = round(record.option("--repeat", REPEAT))
    return "one run" if runs == 1 else f"the best of {runs} runs"


def infiniswap_claims(records: Mapping[str, Record]) -> list[Claim]:
    """In the order of the page."""
    return [
        *_bandwidth(records["remote_memory_beside_nbdkit"], records["remote_memory"]),
        *_programs(records["remote_memory_programs"], records["remote_memory_arrays"]),
        *_failures(records["remote_memory_faults"], records["remote_memory_failures"]),
        *_lending(records["remote_memory_lender"], records["remote_memory_balance"]),
    ]


def _bandwidth(remote: Record, device: Record) -> list[Claim]:
    ratios = device.ratios("remote: ")
    reads, writes = remote.ratios("read: "), remote.ratios("write: ")
    return [
        Claim(
            "2 to 4 times the bandwidth of nbdX",
            f"reads {span(reads, digits=2)} times, writes {span(writes, digits=2)} times that of "
            f"nbdkit over TCP, two hosts of a testbed, {best_of(remote)}",
            as_root(remote),
            "TCP and a process instead of RDMA and a kernel module; the lender copies and encrypts "
            "each page, and nbdkit does not encrypt.",
        ),
        Claim(
            "the same",
            f"on one machine {span(ratios, digits=2)} times the requests of nbdkit's memory, "
            f"{best_of(device)}",
            device.made["command"],
            "nbdkit serves its own memory over one hop; the device and its lender are two hops.",
        ),
        Claim(
            "no CPU time of the lending machine",
            f"{span(_cpu_ms(remote, 'measured'), digits=2)} ms of the lender per MiB, "
            f"{span(_cpu_ms(remote, 'peer'), digits=2)} ms of nbdkit, two hosts of a testbed, "
            f"{best_of(remote)}",
            as_root(remote),
            "RDMA reads and writes without the CPU of the other machine; TCP needs it.",
        ),
    ]


def _cpu_ms(remote: Record, side: str) -> list[float]:
    """Per MiB, as between two hosts: `197 MB/s, 4.39 ms`."""
    return [
        float(figure[side].partition(", ")[2].split()[0])
        for name, figure in remote.figures.items()
        if name.startswith(("read: ", "write: "))
    ]


def _programs(programs: Record, arrays: Record) -> list[Claim]:
    slower, beside_disk = programs.ratios("slower: "), programs.ratios("beside the disk: ")
    graph = arrays.ratio("remote: PageRank, 50 %")
    return [
        Claim(
            "programs with half of their memory are 1.03 to 1.5 times slower",
            f"{span(slower, digits=1)} times slower, {len(slower)} loads, one run each",
            as_root(programs),
            "A page fault passes a loop device, FUSE, the device and the lender, on two cores, "
            "instead of a kernel module and RDMA.",
        ),
        Claim(
            "programs with half of their memory are 4.1 to 15.4 times as fast as on a disk",
            f"{span(beside_disk, digits=1)} times the requests on a disk of 500 requests per "
            f"second, {len(beside_disk)} loads, one run each",
            as_root(programs),
            "Pages that were written before their slab had a lender are read from the same disk.",
        ),
        Claim(
            "graph analytics with half of their memory are 2 to 6.5 times as fast as on a disk",
            f"PageRank in NumPy: {graph:.2f} times, one run",
            as_root(arrays),
            "The lender is on the same machine, where pages are in shared memory, and the disk is "
            "limited to 500 requests and 100 MB per second.",
        ),
    ]


def _failures(faults: Record, failures: Record) -> list[Claim]:
    varies = ""
    if NO_EVENT in failures.figures:
        varies = f" Without an event the same windows lose {failures.measured(NO_EVENT)}."
    requests, wrong = faults.measured("requests"), faults.measured("wrong reads and errors")
    return [
        Claim(
            "reads after writes are right when a remote machine fails",
            f"{requests} requests, {faults.measured('evicted slabs')} evicted slabs: "
            f"{wrong} wrong reads or errors, one run of ten minutes",
            faults.made["command"],
            "No difference; tests with partitions and with errors of the disk found no wrong read "
            "either.",
        ),
        Claim(
            "one of six remote machines fails: 34.5 % less throughput, 58.3 % if it is the busiest",
            f"{failures.measured(f'{LOST}a random lender is killed')} less; the busiest: "
            f"{failures.measured(f'{LOST}the busiest lender is killed')}; medians of the "
            "eight seconds after it",
            as_root(failures),
            "Lost pages are read from a disk of 500 requests per second; the paper's program is "
            f"VoltDB.{varies}",
        ),
        Claim(
            "the eviction of a slab takes 0.36 ms and costs 2.3 % of the throughput",
            f"{failures.measured('time: evict a slab, until its memory is free')}; one per second: "
            f"{failures.measured(f'{LOST}a slab of 4 MiB is evicted per second')} less, "
            "one run",
            as_root(failures),
            "Messages of processes over sockets instead of RDMA; slabs of 4 MiB instead of 1 GB."
            f"{varies}",
        ),
    ]


def _lending(lender: Record, balance: Record) -> list[Claim]:
    requests, p99 = "median of requests per second", "median of p99"
    most, least = "max / median of the hosts", "max / min of the hosts"
    seconds = [
        int(lender.measured(name).replace(",", ""))
        for name in lender.figures
        if name.startswith("requests per second: ")
    ]
    return [
        Claim(
            "lending costs local applications less than 2 % of throughput, at most 4 % of the tail",
            f"{lender.ratio(requests):.2f} times the requests per second, "
            f"{lender.ratio(p99):.2f} times the p99 of a memcached that grows, one run each",
            as_root(lender),
            "The two runs follow each other on two cores, and single seconds of the one with a "
            f"lender have {min(seconds):,} to {max(seconds):,} requests.",
        ),
        Claim(
            "max/median of memory use falls from 2.36 to 1.6, max/min from 22.5 to 2.7",
            f"from {balance.peer(most)} to {balance.measured(most)}, from {balance.peer(least)} to "
            f"{balance.measured(least)}, eight hosts, one run",
            as_root(balance),
            "24 containers of 64 MB on eight hosts instead of 90 on 32 machines.",
        ),
    ]
