"""The peers' jars: locked and checked like Headgate's own, fetched when a benchmark first needs them.

Maintainers: `python -m bench.peers lock` writes `peers.lock.json` anew after a version in `ROOTS` was changed; review
the difference before it is committed, since the checksums are taken from what was downloaded.
"""

from __future__ import annotations

import sys
from pathlib import Path

from controlplane.install.tools import jars
from controlplane.install.tools.errors import SetupError
from controlplane.install.tools.java import find_java
from controlplane.install.tools.lock import write_lock

FLUME = "flume"
CONNECT = "kafka-connect"
FLUME_VERSION = "1.11.0"
CONNECT_VERSION = "4.3.0"
LOCK_FILE = Path(__file__).with_name("peers.lock.json")

# Flume's own metadata pulls in every sink it has, with the application servers and databases behind them: its set is
# listed jar by jar, with the versions that 1.11.0 was released with.
ROOTS: dict[str, tuple[bool, list[str]]] = {
    FLUME: (
        False,
        [
            f"org.apache.flume:flume-ng-node:{FLUME_VERSION}",
            f"org.apache.flume:flume-ng-core:{FLUME_VERSION}",
            f"org.apache.flume:flume-ng-sdk:{FLUME_VERSION}",
            f"org.apache.flume:flume-ng-configuration:{FLUME_VERSION}",
            f"org.apache.flume:flume-ng-config-filter-api:{FLUME_VERSION}",
            f"org.apache.flume.flume-shared:flume-shared-kafka:{FLUME_VERSION}",
            f"org.apache.flume.flume-ng-sources:flume-kafka-source:{FLUME_VERSION}",
            f"org.apache.flume.flume-ng-sinks:flume-ng-kafka-sink:{FLUME_VERSION}",
            "org.apache.kafka:kafka-clients:2.7.2",
            "org.lz4:lz4-java:1.7.1",
            "org.apache.avro:avro:1.11.0",
            "com.fasterxml.jackson.core:jackson-annotations:2.13.2",
            "com.fasterxml.jackson.core:jackson-core:2.13.2",
            "com.fasterxml.jackson.core:jackson-databind:2.13.2.1",
            "com.google.code.gson:gson:2.9.1",
            "com.google.guava:guava:11.0.2",
            "commons-cli:commons-cli:1.5.0",
            "commons-codec:commons-codec:1.15",
            "commons-io:commons-io:2.11.0",
            "commons-lang:commons-lang:2.6",
            "org.apache.commons:commons-lang3:3.11",
            "org.apache.commons:commons-text:1.9",
            "org.apache.logging.log4j:log4j-api:2.24.3",
            "org.apache.logging.log4j:log4j-core:2.24.3",
            "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
            "org.slf4j:slf4j-api:1.7.36",
        ],
    ),
    CONNECT: (
        True,
        [
            f"org.apache.kafka:connect-runtime:{CONNECT_VERSION}",
            f"org.apache.kafka:connect-mirror:{CONNECT_VERSION}",
            "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3",
        ],
    ),
}


def class_path(peer: str) -> str:
    """The peer's class path; what is missing is fetched and checked first. Raises SetupError where that fails."""
    jars.ensure(peer, find_java(), LOCK_FILE)
    return jars.class_path(peer, LOCK_FILE)


def main() -> int:
    """`lock` writes the lock file anew, `fetch` downloads what is missing."""
    try:
        match sys.argv[1:]:
            case ["lock"]:
                write_lock(find_java(), LOCK_FILE, ROOTS)
            case ["fetch"]:
                for peer in ROOTS:
                    class_path(peer)
            case _:
                sys.exit("usage: python -m bench.peers lock|fetch")
    except SetupError as error:
        sys.exit(f"\n{error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
