"""Where Celery's modules come from."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from celery.loaders.app import AppLoader


class Loader(AppLoader):  # type: ignore[misc]
    """Imports what any import of this process would find. Celery's own looks in the current directory first, where
    files of the user may have the names of our packages."""

    def import_from_cwd(self, module: str, imp: Any = None, package: str | None = None) -> ModuleType:
        """Import a module; not from the current directory, whatever Celery calls this."""
        found: ModuleType = (imp or self.import_module)(module, package=package)
        return found
