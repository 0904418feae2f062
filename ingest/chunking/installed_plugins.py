"""The chunkers of other packages that are installed here, found by their entry points. Loads none, and no grammars."""

from dataclasses import dataclass
from functools import cache

from codequarry.shared.errors import UsageError

GROUP = "codequarry.chunkers"


@dataclass(frozen=True, slots=True)
class ChunkerPlugin:
    """An installed plug-in: the language that it cuts, its package with version, and where its function is."""

    language: str
    package: str
    version: str
    target: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


@cache
def installed_plugins() -> tuple[ChunkerPlugin, ...]:
    """Return the plug-ins of this installation by language, without loading any.

    Raise UsageError if two packages cut the same language.
    """
    from importlib.metadata import entry_points  # takes time that a process without the need should not take

    found: dict[str, ChunkerPlugin] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        package, release = (point.dist.name, point.dist.version) if point.dist else ("", "")
        plugin = ChunkerPlugin(point.name.lower(), package, release, point.value)
        other = found.setdefault(plugin.language, plugin)
        if other != plugin:
            raise UsageError(f"two plug-ins cut '{plugin.language}': {other} and {plugin}; uninstall one of them")
    return tuple(found.values())
