"""Data sets: `load` and `roads_of` by name, from the registry `DATASETS`."""

from trajkit.datasets.registry import DATASETS, DatasetSettings, DatasetSpec, dataset, load, roads_of

__all__ = ["DATASETS", "DatasetSettings", "DatasetSpec", "dataset", "load", "roads_of"]
