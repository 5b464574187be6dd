"""Batch scripts of Slurm as job files."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.sbatch_scripts import LARGEST_SCRIPT_BYTES, sbatch_values
from motet.live.jobs.array_file import array_spec
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import CommandSpec


def _values(*lines: str, first: str = "#!/bin/bash") -> dict[str, Any]:
    return sbatch_values("\n".join([first, *lines, "echo ran"]) + "\n", "job.sbatch")


def test_directives_are_keys_of_a_job_file() -> None:
    found = _values(
        "#SBATCH --job-name=fit  # a comment",
        "#SBATCH --nodes=2 --ntasks-per-node 3",
        "#SBATCH -p vision",
        "#SBATCH -t1-02:03:04",
        "#SBATCH -c 4",
        "",
        "# text",
        "##SBATCH --mail-user=me",
        "#SBATCH --dependency=afterok:3:5",
        "#SBATCH --signal=B:USR1@90",
        '#SBATCH -D "/data/my runs"',
    )
    spec = job_spec(found)
    assert isinstance(spec, CommandSpec)
    assert (spec.name, spec.processes, spec.queue, spec.after) == ("fit", 6, "vision", (3, 5))
    assert (spec.duration_s, spec.cpus) == (93_784, 4)
    assert (spec.preempt.signal, spec.preempt.grace_s) == ("SIGUSR1", 90)
    assert spec.workdir == "/data/my runs"
    done = subprocess.run(spec.argv, capture_output=True, text=True, check=True)
    assert done.stdout == "ran\n"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 300), ("5:30", 330), ("1:00:30", 3630), ("2-1", 176_400), ("0-0:1", 60)],
)
def test_times_are_those_of_slurm(text: str, seconds: int) -> None:
    found = _values(f"#SBATCH --time={text}")
    assert (found["duration_s"], found["max_duration"]) == (seconds, seconds)


def test_an_array_has_the_variable_of_slurm() -> None:
    values = {"name": "a", "workdir": "/", **_values("#SBATCH -a 3-4%1")}
    found = array_spec(values)
    assert [spec.envs for _, spec in found.jobs] == [
        {"SLURM_ARRAY_TASK_ID": "3"},
        {"SLURM_ARRAY_TASK_ID": "4"},
    ]
    assert found.most_open == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#SBATCH --mail-user=me", "line 2: --mail-user is not supported; known: --job-name, "),
        ("#SBATCH --exclusive", "line 2: --exclusive is not supported"),
        ("#SBATCH --job-nam=x", "did you mean --job-name"),
        ("#SBATCH --mem=4G", "line 2: --mem is not supported; a job file has memory, of each"),
        ("#SBATCH --gres=gpu:2", "line 2: --gres is not supported; a slot of a machine with GPUs"),
        ("#SBATCH -o out.txt", "line 2: -o: leave it out; 'motet logs' shows"),
        ("#SBATCH --ntasks=0", "line 2: --ntasks=0: a number, 1 or more"),
        ("#SBATCH --ntasks", "line 2: --ntasks needs a value"),
        ("#SBATCH --time=never", "line 2: --time=never: write MINUTES"),
        ("#SBATCH --time=0", "line 2: --time=0: a time above 0"),
        ("#SBATCH --dependency=afterany:3", "only afterok:JOB"),
        ("#SBATCH --signal=USR1@soon", "write NAME@SECONDS"),
        ("#SBATCH -n 2 --ntasks=3", "line 2: --ntasks is given twice"),
        ('#SBATCH -J "a', "line 2: No closing quotation"),
        ("echo first\n#SBATCH -n 2", "line 3: #SBATCH after a command"),
        ("  srun python train.py", "line 2: leave 'srun' out"),
        ("#SBATCH -n 5 -N 2 --ntasks-per-node=2", "--ntasks=5 is not --nodes=2 times"),
    ],
)
def test_what_has_no_meaning_here_is_an_error(line: str, message: str) -> None:
    with pytest.raises(BadInput, match=f"^job.sbatch.*{message}"):
        _values(line)


def test_all_directives_that_are_wrong_are_named_at_once() -> None:
    with pytest.raises(BadInput) as raised:
        _values(
            "#SBATCH --exclusive --mail-user me",
            "#SBATCH --job-nam=x",
            "#SBATCH --ntasks=2",
            "#SBATCH --mem=4G --time=never -n 3",
        )
    first, *lines = str(raised.value).split("; line ")
    assert first == "job.sbatch: 6 directives are refused"
    assert [f"line {line}"[:40] for line in lines] == [
        "line 2: --exclusive is not supported",
        "line 2: --mail-user is not supported",
        "line 3: --job-nam is not supported; did ",
        "line 5: --mem is not supported; a job fi",
        "line 5: --time=never: write MINUTES, HOU",
        "line 5: --ntasks is given twice; known: ",
    ]
    assert lines[-1].startswith("5: --ntasks is given twice; known: --job-name, --ntasks, ")


def test_a_script_names_its_interpreter_and_is_not_too_long() -> None:
    with pytest.raises(BadInput, match="line 1: begin with an interpreter, as '#!/bin/bash'"):
        _values(first="echo hello")
    with pytest.raises(BadInput, match="larger than 100,000 bytes"):
        _values("x" * LARGEST_SCRIPT_BYTES)
    assert _values(first="#!/usr/bin/env python3")["run"][:3] == ["/usr/bin/env", "python3", "-c"]
