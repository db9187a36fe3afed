"""The guided demo as it is carried out: one step of the fault under way at a time.

What is known of a fault is in its row, so that a stack that was killed continues it, or undoes it, at its next start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

import httpx2
from confluent_kafka import KafkaException
from django.db import DatabaseError, close_old_connections

from controlplane.devstack.client import Refused
from controlplane.devstack.guide.cards import FAULTS, Fault
from controlplane.devstack.guide.site import Impossible, Site
from controlplane.install.services.interrupt import Interrupt
from controlplane.install.tools.errors import SetupError
from pipelines.domain.guide.faults import LIMITS, Card, FaultState
from pipelines.foundation import clock
from pipelines.models import DemoFault
from pipelines.services.guide import faults

UNDO_SECONDS = 60.0
"""For undoing a fault that has failed, while something that it needs is away."""
AWAY = (Refused, RuntimeError, TimeoutError, SetupError, KafkaException, httpx2.TransportError, OSError, DatabaseError)
"""What a step may fail with, and be tried again."""
_WORDS = {
    FaultState.REQUESTED: "The pipeline does not run, so that there is nothing to break.",
    FaultState.BROKEN: "Headgate did not notice it in time.",
    FaultState.NOTICED: "The pipeline did not recover in time.",
    FaultState.RECOVERED: "The records could not be counted in time.",
}


class Guide:
    """Carries out the faults of one pipeline. `arrive`: what the cards act on, with a fresh token, for each fault."""

    def __init__(
        self,
        pipeline: str,
        arrive: Callable[[Interrupt], Site],
        say: Callable[[str], None],
        interrupt: Interrupt,
        cards: Mapping[Card, Fault] = FAULTS,
    ) -> None:
        self._pipeline = pipeline
        self._arrive = arrive
        self._interrupt = interrupt
        self._say = say
        self._cards = cards
        self._site: Site | None = None
        self._reason = ""
        self._trouble = ""

    def turn(self) -> None:
        """Take one step, if a fault is under way. Bounded, as every call of the steps is."""
        try:
            self._turn()
        except DatabaseError as error:
            self._trouble = _words_of(error)
            close_old_connections()

    def _turn(self) -> None:
        fault = faults.open_fault(self._pipeline)
        if fault is None:
            self._site, self._reason, self._trouble = None, "", ""
            return
        if self._site is None:
            self._site = self._arrive(self._interrupt)
        try:
            if not self._reason:
                self._step(fault, self._site)
        except Impossible as error:
            self._reason = _words_of(error)
        except AWAY as error:
            self._trouble = _words_of(error)
        if fault.ended_at is None and not self._reason and _seconds(fault) > LIMITS[FaultState(fault.state)]:
            self._reason = " ".join(filter(None, (_WORDS.get(FaultState(fault.state), ""), self._trouble)))
        if self._reason:
            self._end(fault, self._site)

    def close(self) -> None:
        """The stack stops: undo what is under way."""
        with suppress(DatabaseError):
            fault = faults.open_fault(self._pipeline)
            if fault is not None:
                self._reason = "The demo was stopped."
                self._end(fault, self._arrive(Interrupt()), patient=False)

    def _step(self, fault: DemoFault, site: Site) -> None:
        state = FaultState(fault.state)
        if state is FaultState.REQUESTED:
            self._begin(fault, site)
        elif state is FaultState.BREAKING:
            raise Impossible("The demo stack was stopped while it broke the pipeline.")
        elif state is FaultState.BROKEN:
            self._notice(fault, site)
        elif state is FaultState.NOTICED:
            self._recover(fault, site)
        else:
            self._count(fault, site)

    def _begin(self, fault: DemoFault, site: Site) -> None:
        """Break a pipeline that runs."""
        if site.pipeline()["phase"] != "RUNNING" or not (read := site.read()):
            return
        card = self._card(fault)
        if not faults.advance(fault, facts={**site.marks(), "read": read}):
            return
        try:
            broken = card.carry_out(site, partial(faults.remember, fault))
        except AWAY as error:
            raise Impossible(_words_of(error)) from error
        self._say(broken)
        faults.advance(fault, broken=broken)

    def _notice(self, fault: DemoFault, site: Site) -> None:
        notice = self._card(fault).noticed(site, fault.facts)
        if notice is None:
            return
        self._say(f"Noticed: {notice.noticed} {notice.explained}")
        facts = {**fault.facts, "read": site.read()}
        found = {"noticed": notice.noticed, "explained": notice.explained, "link": notice.link}
        faults.advance(fault, facts=facts, **found)

    def _recover(self, fault: DemoFault, site: Site) -> None:
        card = self._card(fault)
        if _seconds(fault) < card.shown_for:
            return
        card.undo(site, fault.facts)
        if site.pipeline()["phase"] != "RUNNING" or site.read() <= fault.facts["read"]:
            return
        if words := card.recovered(site, fault.facts):
            until = site.produced()
            self._say(f"Recovered: {words}")
            faults.advance(fault, recovered=words, facts={**fault.facts, "until": until})

    def _count(self, fault: DemoFault, site: Site) -> None:
        """Until nothing is missing: the last records are still on their way."""
        counted = site.counted(fault.facts)
        words = f"{counted['records']} records, {counted['missing']} missing, {counted['duplicates']} duplicates"
        self._trouble = f"Counted: {words}."
        if not counted["missing"]:
            self._say(self._trouble)
            faults.advance(fault, counted=counted)

    def _end(self, fault: DemoFault, site: Site, *, patient: bool = True) -> None:
        """Undo a fault, then fail it. Where it cannot be undone now, the next turn tries again for a while."""
        reason = self._reason
        try:
            self._card(fault).undo(site, fault.facts)
        except (Impossible, *AWAY) as error:
            if patient and _seconds(fault) < LIMITS[FaultState(fault.state)] + UNDO_SECONDS:
                return
            reason = f"{reason} It could not be undone: {_words_of(error)}"
        self._say(f"The card failed: {reason}")
        faults.fail(fault, reason)

    def _card(self, fault: DemoFault) -> Fault:
        found = self._cards.get(Card(fault.card))
        if found is None:
            raise Impossible("This demo does not have the card.")
        return found


def _words_of(error: Exception) -> str:
    return str(error) or type(error).__name__


def _seconds(fault: DemoFault) -> float:
    return (clock.now() - fault.since).total_seconds()
