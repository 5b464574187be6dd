"""The option that names the GPUs of this machine."""

from __future__ import annotations

import click

gpus_option = click.option(
    "--gpus",
    default="auto",
    metavar="LIST",
    help="GPUs of this machine that are slots: 0,1, none (slots are CPU cores), or auto: those of "
    "CUDA_VISIBLE_DEVICES, or all that nvidia-smi lists, if there are enough for the slots. "
    "Default: auto.",
)
