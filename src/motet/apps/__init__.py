"""The training applications, one per file, and loading them by name or file.

Applications are imported at their first use, so listing the names is cheap.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from motet.domain.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from motet.apps.estimator import Estimator

APPLICATIONS: Mapping[str, str] = MappingProxyType(
    {
        "kmeans": "motet.apps.kmeans:KMeans",
        "lasso": "motet.apps.lasso:Lasso",
        "lda": "motet.apps.lda:LDA",
        "linear_regression": "motet.apps.linear_regression:LinearRegression",
        "linear_svm": "motet.apps.linear_svm:LinearSVM",
        "logistic_regression": "motet.apps.logistic_regression:LogisticRegression",
        "mlr": "motet.apps.mlr:MLR",
        "nmf": "motet.apps.nmf:NMF",
    }
)
"""Every application that comes with Motet: name -> "module:Class"."""


def load_application(name: str) -> type[Estimator]:
    """Return the class of an application.

    `name`: one of `APPLICATIONS`, a file (`./mine.py`, or `./mine.py:Class` if it defines several)
    or `package.module:Class`.

    Raises UnknownName for an unknown name, BadInput for a file or module without an application.
    """
    if not isinstance(name, str):
        raise BadInput(f"{name!r:.60}: not an application; give a name ('mlr') or './mine.py'")
    place, _, class_name = APPLICATIONS.get(name, name).partition(":")
    if place.endswith(".py"):
        return _application_in(_module_from_file(Path(place)), class_name, name)
    if not class_name:
        raise UnknownName("application", name, APPLICATIONS)
    return _application_in(_module_named(place, name), class_name, name)


def load_model(path: str | Path) -> Estimator:
    """Load a fitted model that any application of `APPLICATIONS` saved. Raises BadInput.

    `path`: a file of `save`, or the folder of a run (`motet train --out DIR`).
    """
    from motet.apps.model_file import read_model

    if not isinstance(path, str | Path):
        raise BadInput(f"path={path!r:.60}: give the path of a model that Motet saved")
    name = read_model(path)[0]["application"]
    if name not in APPLICATIONS:
        raise BadInput(
            f"{path}: holds a model of {name!r}, which does not come with Motet; load it with the "
            f'file that defines it: motet.load_application("file.py").load("{path}"), or '
            "motet predict --app file.py"
        )
    return load_application(name).load(path)


def _module_named(module: str, asked: str) -> ModuleType:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise BadInput(
            f"{asked}: there is no module {error.name!r} on Python's path{_own_file(asked)}"
        ) from None


def _own_file(asked: str) -> str:
    """The remedy if a file of this name is at hand."""
    module, _, class_name = asked.partition(":")
    file = Path(f"{module.replace('.', '/')}.py")
    return f"; for the file give ./{file}:{class_name}" if file.is_file() else ""


def _module_from_file(path: Path) -> ModuleType:
    """Import a user's file under a module name that shadows no other module."""
    name = f"motet_user_{path.stem}"
    if not path.is_file():
        raise BadInput(f"{path}: no such file; an application is a name, ./file.py or module:Class")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BadInput(f"{path}: {type(error).__name__} while loading it: {error}") from error
    return module


def _application_in(module: ModuleType, class_name: str, asked: str) -> type[Estimator]:
    defined = _estimators_in(module)
    own = {name: app for name, app in defined.items() if not app.__abstractmethods__}
    if class_name:
        if class_name not in defined:
            raise UnknownName(f"application in {asked.rpartition(':')[0]}", class_name, own)
        if class_name not in own:
            raise _incomplete(asked, defined[class_name])
        return _named(asked, own[class_name])
    if defined and not own:
        raise _incomplete(asked, next(iter(defined.values())))
    if len(own) != 1:
        found = ", ".join(sorted(own)) or "none"
        raise BadInput(
            f"{asked}: holds {len(own)} applications ({found}); "
            f"define one class that extends motet.apps.estimator.Estimator, or write {asked}:Class"
        )
    return _named(asked, next(iter(own.values())))


def _named(asked: str, app: type[Estimator]) -> type[Estimator]:
    """Raises BadInput for a class without a name, which files and messages show."""
    if not isinstance(getattr(app, "name", None), str):
        words = "".join(f" {it}" if it.isupper() else it for it in app.__name__).split()
        example = "_".join(words).lower()
        raise BadInput(
            f"{asked}: {app.__name__} has no name; add the line name = {example!r} to the class"
        )
    return app


def _incomplete(asked: str, app: type[Estimator]) -> BadInput:
    lacking = ", ".join(f"{name}()" for name in sorted(app.__abstractmethods__))
    return BadInput(f"{asked}: {app.__name__} lacks {lacking}; see docs/applications.md")


def _estimators_in(module: ModuleType) -> dict[str, type[Estimator]]:
    """The classes that a module defines, without those that it imports."""
    from motet.apps.estimator import Estimator

    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, Estimator)
        and value.__module__ == module.__name__
    }
