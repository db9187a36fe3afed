"""`python -m workers.agent RUNDIR`: run one launch and exit with a code of `protocol.Exit`.

The JVM is started before anything large is imported: it needs the time, and the imports need none of it.
"""

import errno
import json
import os
import sys
import traceback
from pathlib import Path

from workers.agent.base.log import name_trace, say, take_in_logging
from workers.agent.spark import jvm

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def _start_jvm(run_dir: Path, launch: dict) -> jvm.Jvm:  # type: ignore[type-arg]
    spark = launch["spark"]
    launcher = launch["definition"].get("placement", {}).get("launcher", {})
    heap = launcher.get("driver_memory", "512m")
    local = launcher.get("type", "local") == "local"
    path = spark["classpath"] if local else [*spark["classpath"], *_hadoop()]
    argv = jvm.command(
        path,
        java_home=spark.get("java_home"),
        heap=heap,
        archive=spark.get("archive"),
        profile=launcher.get("jvm_profile"),
        local=local,
    )
    return jvm.Jvm(argv, run_dir / "tmp", local=local)


def _hadoop() -> list[str]:
    """YARN's client finds its cluster by files on the class path."""
    return [os.environ[name] for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if name in os.environ]


def main(run_dir: Path) -> int:
    """Start the JVM, read the launch, and drive it to its end."""
    take_in_logging()
    say(f"The driver starts as process {os.getpid()}.")
    try:
        read = json.loads((run_dir / "launch.json").read_bytes())
        name_trace(str(read.get("traceparent", "")))
        process = _start_jvm(run_dir, read)
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise
        say(f"the JVM cannot be started; is Java 17 or newer installed? {error}", "ERROR")
        return 11
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        say(f"launch.json is not usable: {error!r}", "ERROR")
        return 15
    from pydantic import ValidationError

    from pipelines.domain.definitions.document.references import substituted
    from pipelines.domain.definitions.document.spec import Definition
    from pipelines.domain.runs.protocol import Exit, Launch
    from workers.agent.base import masking
    from workers.agent.driver import Driver
    from workers.agent.run_dir import watch

    try:
        handover = watch.handover()
        masking.hide(handover.masked)
        launch = Launch.model_validate_json((run_dir / "launch.json").read_bytes())
        definition = Definition.model_validate(substituted(launch.definition, handover.values))
        launch = launch.on_cluster(handover.values)
    except EOFError as error:
        say(f"the secrets were not received: {error}", "ERROR")
        process.process.kill()
        return int(Exit.KEEPER_LOST)
    except ValidationError as error:
        problems = [f"{each['loc']}: {each['type']}" for each in error.errors(include_input=False)]
        say(f"launch.json is not usable: {'; '.join(problems)}", "ERROR")
        process.process.kill()
        return int(Exit.BAD_LAUNCH)
    say(f"revision {launch.revision} as {launch.role} on {launch.host}, epoch {launch.epoch}, lineage {launch.lineage}")
    return Driver(run_dir, launch, definition, process).run()


if __name__ == "__main__":
    code = 1
    try:
        code = main(Path(sys.argv[1]))
    except BaseException as failure:
        say(traceback.format_exc(), "ERROR")
        if isinstance(failure, OSError) and failure.errno in _NO_ROOM:
            code = 17
    os._exit(code)  # threads that wait for Spark or a broker must not keep the process
