"""Whether a pipeline may reach the brokers of a cluster: those that it names, and those that these advertise.

A client connects to every broker that it hears of. So no client is made before all of them are known to be allowed, and
they are asked for again while there is one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from pipelines.domain.access.on_host import look_up, server_problem
from pipelines.domain.access.reach import ALLOW_NETWORK, ReachPolicy
from pipelines.domain.access.uses import ADDRESS_NOT_ALLOWED, AddressUse, servers
from pipelines.domain.runs.protocol import AgentFinding
from workers.agent.base.reach import OutOfReach
from workers.agent.kafka import wire

PERIOD = 30.0
"""Seconds after which the brokers are asked for again before a client is used."""
PATIENCE = 10.0
"""Seconds in which a cluster has to answer before the first client is made; a broker that starts is waited for."""
_AGAIN_WITHIN = 2.0
_RETRY = 0.2
_MOST_SHOWN = 5
_AT_ONCE = 8
ADVICE = f"Correct advertised.listeners of the broker. {ALLOW_NETWORK}"
_HOST = re.compile(r"[A-Za-z0-9:][A-Za-z0-9._:-]{0,252}")


class BrokersRefused(KafkaException):
    """A cluster leads its clients to what the pipeline may not reach. `problems`: of each such broker, a sentence."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(KafkaError(KafkaError.POLICY_VIOLATION, " ".join(problems)))
        self.problems = problems

    def __str__(self) -> str:
        return f"{' '.join(self.problems)} {ADVICE}"

    def findings(self, path: str) -> list[AgentFinding]:
        """One for each broker."""
        return [
            AgentFinding(path=f"{path}.bootstrap_servers", code=ADDRESS_NOT_ALLOWED, message=each, suggestion=ADVICE)
            for each in self.problems
        ]


class Admission:
    """Whether clients of one cluster may be used. Without `reach` they may: outside of pipelines."""

    def __init__(self, settings: Mapping[str, Any], reach: ReachPolicy | None) -> None:
        self._settings = settings
        self._reach = reach
        self._lock = threading.Lock()
        self._until = 0.0
        self._known = False
        self._problems: Sequence[str] = ()
        self.failure: KafkaError | None = None

    def require(self) -> None:
        """Raises BrokersRefused, or KafkaException where nobody has ever said which brokers there are: then `failure`
        says why. What is known holds for `PERIOD`, and longer where nobody answers."""
        if self._reach is None:
            return
        with self._lock:
            if time.monotonic() >= self._until:
                self._ask(self._reach, _AGAIN_WITHIN if self._known else PATIENCE)
            if self._problems:
                raise BrokersRefused(self._problems)

    def _ask(self, reach: ReachPolicy, within: float) -> None:
        try:
            self._problems = self._found(reach, time.monotonic() + within)
        except wire.NotTold as error:
            self.failure = _error(error)
            if not self._known:
                raise KafkaException(self.failure) from error
        else:
            self.failure, self._known = None, True
        self._until = time.monotonic() + PERIOD

    def _found(self, reach: ReachPolicy, deadline: float) -> list[str]:
        """Every server of the list is asked, since a client may ask any of them. Raises NotTold where none tells."""
        named = servers("", str(self._settings["bootstrap.servers"]))
        with ThreadPoolExecutor(min(_AT_ONCE, len(named)), thread_name_prefix="advertised") as pool:
            answers = list(pool.map(lambda server: self._answer(server, reach, deadline), named))
        found = [each for each in answers if isinstance(each, list)]
        if not found:
            raise next(each for each in answers if isinstance(each, wire.NotTold))
        return list(dict.fromkeys(problem for each in found for problem in each))[:_MOST_SHOWN]

    def _answer(self, server: AddressUse, reach: ReachPolicy, deadline: float) -> list[str] | wire.NotTold:
        """What speaks against a server, or against a broker that it advertises."""
        while True:
            try:
                brokers = wire.advertised(server.host, server.port, self._settings, reach, deadline)
                return list(_problems_of(server, brokers, reach, deadline))
            except OutOfReach as error:
                return [str(error)]
            except wire.NotTold as error:
                if error.lasting or self._known or time.monotonic() + _RETRY >= deadline:
                    return error
            time.sleep(_RETRY)


def _problems_of(
    server: AddressUse, brokers: Sequence[wire.Broker], reach: ReachPolicy, deadline: float
) -> Iterator[str]:
    for broker in brokers:
        said = f"Broker {broker.id}, as {server.host}:{server.port} advertises it"
        if time.monotonic() >= deadline:
            raise wire.NotTold("the names of the brokers that it advertises take too long to resolve")
        if not _HOST.fullmatch(broker.host) or not 0 < broker.port <= 65_535:
            yield f"{said}, has no address that can be one."
        elif problem := server_problem(AddressUse("", broker.host, broker.port), reach, look_up):
            yield f"{said}: {problem}"


def _error(error: wire.NotTold) -> KafkaError:
    code = KafkaError.SASL_AUTHENTICATION_FAILED if isinstance(error, wire.LoginRefused) else KafkaError._TRANSPORT
    return KafkaError(code, str(error))
