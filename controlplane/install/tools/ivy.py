"""Apache Ivy, as carried by PySpark: the downloader of jars that needs no tool besides Java.

Ivy knows the central repository by itself. `HEADGATE_IVY_SETTINGS` names an Ivy settings file of the user's own, for a
mirror or a repository with a login.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import Java
from controlplane.install.tools.paths import pyspark_jars

TIMEOUT = 900.0  # seconds for one run of Ivy
_JARS_ONLY = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="{usepoms}"/></resolvers>
</ivysettings>
"""
_PROBLEM_MARKS = ("UNRESOLVED", "FAILED DOWNLOADS", "Exception", "not found", "timed out", "refused", "unreachable")


def retrieve(java: Java, coordinates: Sequence[str], target: Path, *, work: Path, transitive: bool) -> None:
    """Download `group:artifact:version` jars to `target/<group>/<artifact>/<version>.jar`.

    Without `transitive`, exactly these and no metadata. Raises SetupError when one of them cannot be had.
    """
    work.mkdir(parents=True, exist_ok=True)
    module, settings = work / "ivy.xml", work / "ivysettings.xml"
    module.write_text(_module(coordinates, transitive=transitive))
    settings.write_text(_JARS_ONLY.format(usepoms=str(transitive).lower()))
    result = _run(
        [
            str(java.executable),
            f"-Divy.home={work / 'home'}",
            "-Dhttp.keepAlive=true",
            "-jar",
            str(_ivy_jar()),
            "-settings",
            os.environ.get("HEADGATE_IVY_SETTINGS") or str(settings),
            "-cache",
            str(work / "cache"),
            "-ivy",
            str(module),
            "-retrieve",
            str(target / "[organisation]" / "[artifact]" / "[revision].[ext]"),
        ]
    )
    if result.returncode != 0:
        raise _not_downloaded(result.stdout + result.stderr)


def _module(coordinates: Sequence[str], *, transitive: bool) -> str:
    configuration = "default" if transitive else "default->default"
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(revision)}"
        f' transitive="{str(transitive).lower()}" conf="{configuration}"/>'
        for org, name, revision in (c.split(":") for c in coordinates)
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="headgate" module="jars"/>\n'
        f'  <configurations><conf name="default"/></configurations>\n  <dependencies>\n{dependencies}\n'
        "  </dependencies>\n</ivy-module>\n"
    )


def _ivy_jar() -> Path:
    jars = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not jars:
        raise SetupError("The installed PySpark carries no Ivy jar.", "Install PySpark again.")
    return jars[-1]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise _not_downloaded(f"timed out after {TIMEOUT:.0f} s") from error


def _not_downloaded(output: str) -> SetupError:
    causes = list(dict.fromkeys(line.strip() for line in output.splitlines() if any(m in line for m in _PROBLEM_MARKS)))
    detail = "\n  ".join(causes[:6]) or output.strip()[-500:]
    return SetupError(
        f"The jars could not be downloaded:\n  {detail}",
        "Check the network, then run it again. Behind a proxy, set "
        "JAVA_TOOL_OPTIONS='-Dhttps.proxyHost=HOST -Dhttps.proxyPort=PORT'. "
        "With a mirror, set HEADGATE_IVY_SETTINGS=/path/to/ivysettings.xml.",
    )
