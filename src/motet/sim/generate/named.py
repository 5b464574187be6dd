"""Named workloads: published mixes that are drawn for each seed, without a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from motet.domain.errors import BadInput, UnknownName
from motet.sim.generate.arrivals import parse_arrivals
from motet.sim.generate.demands import parse_demands
from motet.sim.generate.durations import parse_durations
from motet.sim.generate.elastic import ELASTIC_RECIPES, ElasticRecipe, generate_elastic
from motet.sim.generate.harmony import SUBTASK_RECIPES, SubtaskRecipe, generate_subtasks
from motet.sim.generate.helios import HELIOS_RECIPES
from motet.sim.generate.mix import MIXES, parse_mix
from motet.sim.generate.searches import SEARCH_RECIPES, SearchRecipe, generate_searches
from motet.sim.generate.workload import Recipe, generate
from motet.sim.traces.trace import Trace
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload

AnyRecipe: TypeAlias = Recipe | ElasticRecipe | SearchRecipe | SubtaskRecipe
RECIPES: Mapping[str, AnyRecipe] = {
    **{name: Recipe(mix=mix) for name, mix in MIXES.items()},
    **HELIOS_RECIPES,
    **ELASTIC_RECIPES,
    **SEARCH_RECIPES,
    **SUBTASK_RECIPES,
}
_FIXED: Mapping[str, str] = {
    **dict.fromkeys((*ELASTIC_RECIPES, *SUBTASK_RECIPES), "steps and speeds"),
    **dict.fromkeys(SEARCH_RECIPES, "the rungs of its searches"),
}
"""Workloads with durations of their own, and from what these follow."""


def draw(recipe: AnyRecipe, rng: np.random.Generator) -> Workload:
    """A workload from any kind of recipe. Raises BadInput."""
    if isinstance(recipe, SearchRecipe):
        return generate_searches(recipe, rng)
    if isinstance(recipe, SubtaskRecipe):
        return generate_subtasks(recipe, rng)
    if isinstance(recipe, ElasticRecipe):
        return generate_elastic(recipe, rng)
    return generate(recipe, rng)


def is_drawn(name: str) -> bool:
    """Whether the name denotes a recipe; an existing file of that name takes precedence."""
    return name in RECIPES and not os.path.exists(name)


def drawn_trace(name: str, seed: int) -> Trace:
    """The trace that `motet trace generate --mix NAME --seed K` writes, with the hash of that file.

    Raises UnknownName.
    """
    if name not in RECIPES:
        raise UnknownName("workload", name, RECIPES)
    workload = draw(RECIPES[name], np.random.default_rng(seed))
    sha256 = hashlib.sha256(motet_csv(workload).encode()).hexdigest()
    return Trace(workload, "generated", sha256)


def parse_recipe(
    mix: str,
    jobs: int | None,
    arrivals: str | None,
    durations: str | None,
    demands: str | None = None,
) -> AnyRecipe:
    """The recipe that the options of `motet trace generate` describe; None: the default of the mix.
    For searches, `jobs` is the number of searches.

    Raises BadInput, UnknownName.
    """
    given: dict[str, Any] = {} if jobs is None else {"jobs": jobs}
    if arrivals is not None:
        given["arrivals"] = parse_arrivals(arrivals)
    if durations is not None and mix in _FIXED:
        follow = _FIXED[mix]
        raise BadInput(f"--durations {durations}: those of {mix} follow from {follow}; omit it")
    if demands is not None and mix in _FIXED:
        raise BadInput(f"--demands {demands}: jobs of {mix} request only GPUs; omit it")
    if mix in SUBTASK_RECIPES:
        return replace(SUBTASK_RECIPES[mix], **given)
    if mix in ELASTIC_RECIPES:
        return replace(ELASTIC_RECIPES[mix], **given)
    if mix in SEARCH_RECIPES:
        given |= {} if jobs is None else {"searches": given.pop("jobs")}
        return replace(SEARCH_RECIPES[mix], **given)
    if durations is not None:
        given["durations"] = parse_durations(durations)
    if demands is not None:
        given["demands"] = parse_demands(demands)
    if mix in HELIOS_RECIPES:
        return replace(HELIOS_RECIPES[mix], **given)
    return Recipe(mix=parse_mix(mix), **given)
