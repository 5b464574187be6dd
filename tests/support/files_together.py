"""Which test files one process runs, where pytest-xdist hands files to several processes."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

TORCH_PAIR = "tests/torch: the fixture `pair`"
TOGETHER = {
    f"tests/torch/{file}.py": TORCH_PAIR
    for file in (
        "distributed/test_process_group",
        "distributed/test_stream_order",
        "staging/test_cuda",
        "staging/test_devices",
        "test_attachment",
        "test_equal_curves",
        "test_long_curves",
    )
}
"""Files that share a fixture of a session, which takes seconds of a processor in every process."""


class FilesTogether(LoadFileScheduling):
    """A file is run by one process, and so are the files of `TOGETHER` with the same value."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return TOGETHER.get(file, file)
