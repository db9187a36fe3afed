"""What was refused to whom, in the audit. Counted, so that nobody fills the database with refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping

import structlog
from django.db import Error, transaction

from pipelines.models import AccessToken, AuditRow
from pipelines.services.access import attempts
from pipelines.services.base import audit
from pipelines.services.base.audit import Actor

MOST = 30
"""Rows for one user, or one network where the user is not known, in five minutes. The last one says that it is."""
NOT_RECORDED = frozenset({"reauthentication_required", "enrolment_required"})
"""Codes of what is a step of a log-in, and no refusal; of one there is no user yet."""
_TOKEN_KEY = re.compile(r"hg_[0-9a-f]{12}")

log = structlog.get_logger(__name__)


def record_request(*, actor: Actor, code: str, pipeline_name: str = "") -> None:
    """Record a request that was refused for the rights of its user."""
    asked = {"method": actor.request["method"], "route": actor.request["route"], "code": code}
    _record(actor, "request.refused", asked, pipeline_name)


def record_token(*, actor: Actor, text: str) -> None:
    """Record a token that is not valid, by what may be shown of it. `actor`: without a name."""
    found = _TOKEN_KEY.match(text)
    token = AccessToken.objects.select_related("user").filter(token_key=found[0]).first() if found else None
    known = Actor(token.user.username, actor.address, actor.request_id) if token else actor
    reason = "expired" if token else "revoked" if found and _was_revoked(found[0]) else "unknown"
    _record(known, "token.refused", {"token": found[0] if found else "", "reason": reason})


def _was_revoked(token_key: str) -> bool:
    return AuditRow.objects.filter(action="token.revoked", before__token=token_key).exists()


def _record(actor: Actor, action: str, after: Mapping[str, object], pipeline_name: str = "") -> None:
    """A database that is busy makes no other answer of a refusal."""
    who = actor.name or attempts.network_of(actor.address)
    try:
        with transaction.atomic():
            number = attempts.counted("refused", who)
            if number > MOST:
                return
            more = {"more": "Further refusals are not recorded for up to 5 minutes."} if number == MOST else {}
            audit.record(
                actor=actor, action=action, pipeline_name=pipeline_name, after={**after, **more}, outcome="refused"
            )
    except Error as error:
        log.warning("refusal_not_recorded", action=action, actor=actor.name, cause=str(error))
