"""Asks every route of the API as a user, with the names and numbers of what another team owns.

The routes come from the API's own description, so that a new one is swept by itself.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
SHARED = frozenset(
    {"alert-rules", "allowed-networks", "allowed-roots", "clusters", "evacuations", "hosts", "templates"}
)
"""First words of addresses below /api/v1 of what the installation owns: it exists for everybody, without what it says
of other teams."""
CLOSED = frozenset({"session", "teams", "tokens", "users"})
"""First words of addresses that a role in single teams does not open, or of what is the caller's own."""
ABSENT = {
    re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"): "0f0e0d0c-0b0a-4090-8080-706050403020",
    re.compile(r"[0-9]+"): "99999999",
    re.compile(r"[0-9a-f]{32}"): "0f0e0d0c0b0a40908080706050403020",
    re.compile(r".*"): "nothing-of-this-name",
}
"""Values that nothing has, by the shape of those that something has."""
_UNLIKE = frozenset({"content-length", "date", "server", "x-request-id", "traceparent", "set-cookie"})
"""Headers that two answers to the same request differ in."""
ATTEMPTS = 5
_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Question:
    """A request: `template` is the route, `values` what its parameters, its query and its body name."""

    method: str
    template: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    values: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        """Whether the address is of something that exists for everybody."""
        return "{" in self.template and _kind(self.template) in SHARED

    @property
    def is_of_a_team(self) -> bool:
        """Whether the address is of something that a team owns; what a PUT names may be about to be made."""
        return "{" in self.template and _kind(self.template) not in SHARED | CLOSED and self.method != "PUT"

    def __str__(self) -> str:
        return f"{self.method} {self.path} {dict(self.query) or ''} {self.body or ''}".strip()


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    def like(self, question: Question) -> tuple[Any, ...]:
        """What is the same in the answers about two things of which neither exists."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        kept = {name: value for name, value in headers.items() if not _differs(name)}
        return self.status, _without(str(sorted(kept.items())), question), _without(self.text, question)


def readable(content: bytes, kind: str) -> str:
    """The text of an answer; of an archive that of all its files."""
    if not content or not kind.startswith("application/zip"):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "\n".join(f"{name}\n{archive.read(name).decode()}" for name in archive.namelist())


def _differs(name: str) -> bool:
    return name in _UNLIKE or "ratelimit" in name


def _without(text: str, question: Question) -> str:
    text = re.sub(r'"(request_id|csrf_token)": ?"[^"]*"', "", text)
    text = re.sub(r'"milliseconds": ?[0-9.]+', "", text)
    for each in sorted(question.values, key=len, reverse=True):
        text = re.sub(rf"(?<![0-9A-Za-z]){re.escape(each)}(?![0-9A-Za-z])", "~", text)
    return text


def _kind(template: str) -> str:
    return template.split("/")[3]


Ask = Callable[[Question], Answer]
Values = Mapping[str, str]
"""What parameters of addresses name (`pipelines.name`, `runs.run_id`), and those of queries and bodies (`pipeline`)."""


def absent(values: Values) -> dict[str, str]:
    """The same parameters, with values of the same shape that nothing has."""
    return {name: _absent(value) for name, value in values.items()}


def _absent(value: str) -> str:
    return next(nothing for shape, nothing in ABSENT.items() if shape.fullmatch(value))


def questions(description: Mapping[str, Any], values: Values) -> Iterator[Question]:
    """Every route with every method, and what else can name something: queries and bodies."""
    for template, item in description["paths"].items():
        path, named = _filled(template, values)
        for method in METHODS:
            plain = Question(method, template, path, values=named)
            yield replace(plain, body={} if method in {"POST", "PUT", "PATCH"} else None)
            operation = item.get(method.lower(), {})
            yield from _with_queries(plain, operation, values)
            yield from _with_bodies(plain, values)


def _filled(template: str, values: Values) -> tuple[str, tuple[str, ...]]:
    named = [values[f"{_kind(template)}.{name}"] for name in _PARAMETER.findall(template)]
    path = template
    for each in named:
        path = _PARAMETER.sub(each, path, count=1)
    return path, tuple(named)


def _with_queries(plain: Question, operation: Mapping[str, Any], values: Values) -> Iterator[Question]:
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        if parameter["in"] == "query" and parameter["schema"].get("type") == "string" and name in values:
            yield replace(plain, query={name: values[name]}, values=(*plain.values, values[name]))


def _with_bodies(plain: Question, values: Values) -> Iterator[Question]:
    for body, named in BODIES.get((plain.method, plain.template.removeprefix("/api/v1/")), _no_bodies)(values):
        yield replace(plain, body=body, values=(*plain.values, *named))


Bodies = Callable[[Values], Iterable[tuple[Any, tuple[str, ...]]]]


def _no_bodies(_: Values) -> Iterable[tuple[Any, tuple[str, ...]]]:
    return ()


def _pipeline_in(**more: Any) -> Bodies:
    return lambda values: [({"pipeline": values["pipeline"], **more}, (values["pipeline"],))]


LATER = "2999-01-01T00:00:00Z"
BODIES: Mapping[tuple[str, str], Bodies] = {
    ("POST", "migrations"): _pipeline_in(kind="software", spec={}, reason="x"),
    ("POST", "approval-policies"): _pipeline_in(approvers=1),
    ("POST", "freezes"): _pipeline_in(starts_at="2998-01-01T00:00:00Z", ends_at=LATER, reason="x"),
    ("PUT", "alert-rules/{rule}"): _pipeline_in(enabled=False),
    ("POST", "silences"): lambda values: [
        (
            {"matchers": {"pipelines": [values["pipeline"]]}, "comment": "x", "ends_at": LATER},
            (values["pipeline"],),
        )
    ],
    ("POST", "consumer-groups/{group_id}/plan"): lambda values: [
        ({"to": f"before={values['event']}-1m"}, (values["event"],))
    ],
    ("POST", "tokens"): lambda values: [({"name": "x", "user": values["user"]}, (values["user"],))],
}
"""Bodies that name something by which its existence could be told."""


@dataclass
class Sweep:
    """What was asked, and what was wrong with the answers."""

    markers: tuple[str, ...]
    asked: int = 0
    routes: set[tuple[str, str]] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def ask(self, ask: Ask, question: Question) -> Answer:
        """Ask, count, and look for the other team in the answer."""
        answer = ask(question)
        self.asked += 1
        self.routes.add((question.method, question.template))
        self.look(str(question), f"{sorted(answer.headers.items())} {answer.text}", question)
        return answer

    def look(self, what: str, text: str, question: Question | None = None) -> None:
        """Note where something of the other team is in a text that the caller has not sent itself."""
        shown = _without(text, question) if question else text
        self.wrong += [f"{what}: shows {marker!r}" for marker in self.markers if marker in shown]

    def compare(self, ask: Ask, of_others: Question, of_nothing: Question) -> None:
        """What is another team's answers as what does not exist; an address of it is not found. Where the caller's own
        team is at work, two answers may differ by that, but not each time."""
        for _ in range(ATTEMPTS):
            seen, nothing = self.ask(ask, of_others), self.ask(ask, of_nothing)
            differs = not of_others.is_shared and seen.like(of_others) != nothing.like(of_nothing)
            if not differs:
                break
        if differs:
            self.wrong.append(f"{of_others}: {seen.status} {seen.text[:300]}, without it {nothing.status}")
        if of_others.is_of_a_team and seen.status not in {404, 405}:
            self.wrong.append(f"{of_others}: {seen.status}, and not 404: {seen.text[:200]}")

    def run(self, ask: Ask, description: Mapping[str, Any], values: Values, *, every: int = 1) -> None:
        """Ask for everything of another team; `every`: of so many questions one."""
        others, nothing = questions(description, values), questions(description, absent(values))
        for of_others, of_nothing in islice(zip(others, nothing, strict=True), 0, None, every):
            self.compare(ask, of_others, of_nothing)
