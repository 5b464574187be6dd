"""Claims about Infiniswap, from records."""

from __future__ import annotations

from collections.abc import Mapping

from support.claims import Claim, span
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
)


def as_root(record: Record) -> str:
    """The command of a measurement that needs root."""
    command = record.made["command"]
    return command if command.startswith("sudo ") else f"sudo {command}"


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
            "nbdkit over TCP, two hosts of a testbed, best of three",
            as_root(remote),
            "TCP and a process instead of RDMA and a kernel module; the lender copies and encrypts "
            "each page, and nbdkit does not encrypt.",
        ),
        Claim(
            "the same",
            f"on one machine {span(ratios, digits=2)} times the requests of nbdkit's memory, best "
            "of three",
            device.made["command"],
            "nbdkit serves its own memory over one hop; the device and its lender are two hops.",
        ),
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
            "A buffer reads blocks of 1 MiB in order, so a disk of 500 requests per second "
            "delivers its full 100 MB/s; the paper's programs page at random.",
        ),
    ]


def _failures(faults: Record, failures: Record) -> list[Claim]:
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
            f"{failures.measured('throughput lost: a random lender is killed')} less; the busiest: "
            f"{failures.measured('throughput lost: the busiest lender is killed')}; medians of the "
            "eight seconds after it",
            as_root(failures),
            "Lost pages are read from a disk of 500 requests per second; the paper's program is "
            "VoltDB. Other work on our two cores changes the speed by a third without any failure.",
        ),
        Claim(
            "the eviction of a slab takes 0.36 ms and costs 2.3 % of the throughput",
            f"{failures.measured('time: evict a slab, until its memory is free')}; one per second: "
            f"{failures.measured('throughput lost: a slab of 4 MiB is evicted per second')} less, "
            "one run",
            as_root(failures),
            "Messages of processes over sockets instead of RDMA; slabs of 4 MiB instead of 1 GB. "
            "The loss of one run is within the noise of the machine.",
        ),
    ]


def _lending(lender: Record, balance: Record) -> list[Claim]:
    requests, p99 = "median of requests per second", "median of p99"
    most, least = "max / median of the hosts", "max / min of the hosts"
    return [
        Claim(
            "lending costs local applications less than 2 % of throughput, at most 4 % of the tail",
            f"{lender.ratio(requests):.2f} times the requests per second, "
            f"{lender.ratio(p99):.2f} times the p99 of a memcached that grows, one run each",
            as_root(lender),
            "The two runs follow each other on two cores; a difference of 2 % is within their "
            "noise.",
        ),
        Claim(
            "max/median of memory use falls from 2.36 to 1.6, max/min from 22.5 to 2.7",
            f"from {balance.peer(most)} to {balance.measured(most)}, from {balance.peer(least)} to "
            f"{balance.measured(least)}, eight hosts, one run",
            as_root(balance),
            "24 containers of 64 MB on eight hosts instead of 90 on 32 machines.",
        ),
    ]
