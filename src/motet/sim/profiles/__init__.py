"""Measurements of models on real GPUs: speeds by type, alone, spread and in pairs."""

from motet.sim.profiles.measured import MeasuredSpeeds
from motet.sim.profiles.reading import bundled_profiles, open_profiles
from motet.sim.profiles.table import ProfileTable

__all__ = ["MeasuredSpeeds", "ProfileTable", "bundled_profiles", "open_profiles"]
