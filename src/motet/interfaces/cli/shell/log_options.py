"""Options that say how a log of jobs is to be read, of `simulate` and of the `trace` commands."""

from __future__ import annotations

from functools import partial

import click

from motet.interfaces.cli.shell.option_groups import SectionOption

input_option = partial(click.option, cls=SectionOption, section="Input")
columns_option = input_option(
    "--columns",
    "column_texts",
    multiple=True,
    metavar="NAME=COLUMN,...",
    help="Columns of a table in no known format, for example "
    "submit_time=Submitted,num_gpus=GPUs,duration=Elapsed; or other fields of sacct.",
)
encoding_option = input_option(
    "--encoding",
    metavar="NAME",
    help="Encoding of the text, for example gbk; if not given, UTF-8, UTF-16 or Windows-1252.",
)
timezone_option = input_option(
    "--timezone",
    metavar="ZONE",
    help="Time zone of times without one, for example Europe/Berlin; if not given, UTC.",
)
time_format_option = input_option(
    "--time-format",
    metavar="FORMAT",
    help="Form of times, for example '%d.%m.%Y %H:%M', or the unit of counts since 1970: s, ms, "
    "us, ns; if not given, ISO 8601 or what is unambiguous.",
)
