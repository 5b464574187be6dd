"""Synthetic workloads: independent distributions of GPUs, durations and arrivals."""

from motet.sim.generate.arrivals import ARRIVALS, parse_arrivals
from motet.sim.generate.durations import DURATIONS, parse_durations
from motet.sim.generate.elastic import ELASTIC_RECIPES
from motet.sim.generate.mix import MIXES, parse_mix
from motet.sim.generate.named import draw, parse_recipe
from motet.sim.generate.workload import Recipe, generate

__all__ = [
    "ARRIVALS",
    "DURATIONS",
    "ELASTIC_RECIPES",
    "MIXES",
    "Recipe",
    "draw",
    "generate",
    "parse_arrivals",
    "parse_durations",
    "parse_mix",
    "parse_recipe",
]
