"""Every story of the page with every role: what a role may do is offered and works, what it may not is absent or says
why and is refused by the API too, and what another team owns does not exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import httpx2
import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, expect
from playwright.sync_api import Error as PlaywrightError

from pipelines.domain.base.roles import ROLE_NAMES, RoleWord
from tests.chaos.extent import some
from tests.chaos.installation import wait_for
from tests.chaos.migrating import stamped
from tests.chaos.stream import MOVING_WITHIN, Stream
from tests.e2e.conftest import Stack
from tests.e2e.page import figure, log_in, opened, wait_for_phase, wait_until_above
from tests.e2e.test_page_accessibility import settle

PASSWORD = "correct horse battery"
DEMO = "/pipelines/demo"
OURS, THEIRS = "default", "cobalt"
THEIR_PIPELINE = "cobalt-ledger"
TABS = {
    "Topology": "",
    "Throughput and lag": "/throughput",
    "Ledger": "/ledger",
    "Positions": "/positions",
    "Dead letters": "/dead-letters",
    "Records": "/records",
    "Trace": "/trace",
    "Runs": "/runs",
    "Events": "/events",
    "Log": "/log",
    "Revisions": "/revisions",
    "Definition": "/definition",
}
DEFINITION = """\
api_version: headgate/v1
name: {name}
description: {text}
sources:
  shop:
    type: kafka
    bootstrap_servers: localhost:9092
    topics: [orders]
    group_id: headgate.{name}
    start_from: earliest
channels:
  main: {{type: direct}}
sinks:
  out: {{type: logger, channel: main}}
"""
REQUEST = """async ([method, path, body]) => {
    const session = await (await fetch('/api/v1/session')).json()
    const headers = {'X-CSRFToken': session.csrf_token, 'Content-Type': 'application/json'}
    const answer = await fetch('/api/v1' + path, {method, headers, body: body && JSON.stringify(body)})
    return answer.status
}"""
LONG_MS = 300_000
LONGEST_REASON = 400


class Outcome(Enum):
    """DOES: it is offered and works. REFUSED: it is shown with the reason, and the API refuses it. ABSENT: it is not
    shown, and the API refuses it."""

    DOES = "does"
    REFUSED = "refused"
    ABSENT = "absent"


DOES, REFUSED, ABSENT = Outcome


@dataclass(frozen=True)
class Person:
    """A user with a page of their own, and the administrator's client that sets the scene."""

    name: str
    page: Page
    root: httpx2.Client

    def at(self, path: str, heading: str) -> Page:
        self.page.goto(path)
        settle(self.page, heading)
        return self.page

    def asks(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        """The status of a request with the session of this user."""
        return int(self.page.evaluate(REQUEST, [method, path, body]))


@dataclass(frozen=True)
class Story:
    """Something that a user comes to do. `control`: what it is done with, where the page shows it. `request`: what the
    page would send. `does`: does it, and sees that it was done."""

    control: Callable[[Person], Locator]
    request: Callable[[Person], tuple[str, str, dict[str, Any] | None]]
    does: Callable[[Person, Locator], None]
    outcomes: dict[RoleWord, Outcome]


def by_role(viewer: Outcome, operator: Outcome, approver: Outcome, admin: Outcome) -> dict[RoleWord, Outcome]:
    return {"viewer": viewer, "operator": operator, "approver": approver, "admin": admin}


@pytest.fixture(scope="module")
def root(stack: Stack) -> Iterator[httpx2.Client]:
    """The administrator of all teams; another team has a pipeline with an alert."""
    headers = {"Authorization": f"Token {stack.token}"}
    with httpx2.Client(base_url=f"{stack.url}/api/v1", headers=headers, timeout=60) as api:
        api.post("/teams", json={"name": THEIRS}).raise_for_status()
        create(api, THEIR_PIPELINE, THEIRS)
        break_glass(api, THEIR_PIPELINE, "publish", definition=text_of(THEIR_PIPELINE, "theirs alone"))
        for role in ROLE_NAMES:
            create(api, f"{of(role)}-draft", OURS)
            user(api, of(role), role, OURS)
        user(api, "rita", "operator", THEIRS)
        user(api, "mia", "operator", THEIRS)
        api.put(f"/teams/{OURS}/bindings", json={"user": "mia", "role": "viewer"}).raise_for_status()
        yield api
        for name in (THEIR_PIPELINE, *(f"{of(role)}-draft" for role in ROLE_NAMES)):
            api.delete(f"/pipelines/{name}")


def of(role: str) -> str:
    """The user with this role in the team of the pipeline that flows."""
    return f"our-{role}"


def text_of(name: str, text: str = "a draft") -> str:
    return DEFINITION.format(name=name, text=text)


def create(root: httpx2.Client, name: str, team: str) -> None:
    root.post("/pipelines", json={"definition": text_of(name), "team": team}).raise_for_status()


def user(root: httpx2.Client, name: str, role: str, team: str) -> None:
    body = {"username": name, "role": role, "team": team, "password": PASSWORD}
    root.post("/users", json=body).raise_for_status()


def break_glass(root: httpx2.Client, name: str, kind: str, **arguments: Any) -> None:
    """A change that opens an alert of the pipeline."""
    body = {"kind": kind, "reason": f"A trial of {name}", "arguments": arguments}
    root.post(f"/pipelines/{name}/break-glass", json=body).raise_for_status()


def shown(root: httpx2.Client, name: str) -> dict[str, Any]:
    found: dict[str, Any] = root.get(f"/pipelines/{name}").raise_for_status().json()
    return found


@contextmanager
def person(browser: Browser, stack: Stack, root: httpx2.Client, name: str) -> Iterator[Person]:
    own = replace(stack, user=name, password=PASSWORD)
    with opened(browser, own) as page:
        log_in(page, own)
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        yield Person(name, page, root)


def button(page: Page, name: str | re.Pattern[str]) -> Locator:
    return page.get_by_role("button", name=name, exact=isinstance(name, str))


def item(person: Person, pipeline: str, label: str) -> Locator:
    """What is in the menu of a pipeline."""
    page = person.at(f"/pipelines/{pipeline}", pipeline)
    button(page, f"More for {pipeline}").click()
    return page.get_by_role("menuitem", name=re.compile(f"^{label}"))


def palette_item(person: Person, label: str) -> Locator:
    page = person.at("/", "Pipelines")
    page.keyboard.press("ControlOrMeta+k")
    palette = page.get_by_role("dialog", name="Command palette")
    palette.get_by_role("textbox").fill(label)
    expect(palette).to_be_visible()
    return palette.get_by_role("button", name=label, exact=True)


def draft(person: Person) -> str:
    return f"{person.name}-draft"


def pauses(person: Person, control: Locator) -> None:
    """Really: nothing is read, then records move again."""
    page = person.page
    wait_for_phase(page, "Running")
    control.click()
    wait_for_phase(page, "Paused")
    delivered = figure(page, "Delivered")
    button(page, "Resume").click()
    wait_for_phase(page, "Running")
    wait_until_above(page, "Delivered", delivered)


def with_alert(person: Person) -> Locator:
    break_glass(person.root, draft(person), "publish", definition=text_of(draft(person), "in an emergency"))
    page = person.at("/alerts", "Alerts")
    card = page.get_by_role("list", name="Firing").get_by_role("listitem").filter(has_text=draft(person)).first
    expect(card).to_be_visible()
    return card.get_by_role("button", name=re.compile("^Acknowledge"))


def alert_of(person: Person) -> int:
    found = person.root.get(f"/alerts?pipeline={draft(person)}&state=OPEN").raise_for_status().json()["results"]
    return int(found[0]["id"])


def acknowledges(person: Person, control: Locator) -> None:
    control.click()
    dialog = person.page.get_by_role("dialog", name="Acknowledge alert")
    dialog.get_by_label("Note").fill("It was agreed")
    button_in(dialog, "Acknowledge alert").click()
    expect(dialog).to_have_count(0)
    open_alerts = f"/alerts?pipeline={draft(person)}&state=OPEN"
    wait_for(lambda: not person.root.get(open_alerts).json()["results"], MOVING_WITHIN, "it is acknowledged")


def button_in(part: Locator, name: str) -> Locator:
    return part.get_by_role("button", name=name, exact=True)


def publishes(person: Person, control: Locator) -> None:
    page, name = person.page, draft(person)
    before = shown(person.root, name)["revision"]
    control.click()
    settle(page, f"New revision of {name}")
    page.get_by_role("textbox", name="Definition").fill(text_of(name, f"by {person.name}"))
    review = button(page, "Review changes")
    expect(review).not_to_have_attribute("aria-disabled", "true")
    review.click()
    button_in(page.get_by_role("dialog", name=f"Review changes of {name}"), "Publish revision").click()
    expect(page).to_have_url(re.compile("/revisions"))
    assert shown(person.root, name)["revision"] == before + 1


def creates(person: Person, control: Locator) -> None:
    page, name = person.page, f"{person.name}-new"
    control.click()
    settle(page, "New pipeline")
    page.get_by_role("textbox", name="Definition").fill(text_of(name))
    expect(page.get_by_text("Valid", exact=True)).to_be_visible()
    button(page, "Create pipeline").click()
    settle(page, name)
    assert shown(person.root, name)["team"] == OURS
    person.root.delete(f"/pipelines/{name}").raise_for_status()


def opens_the_wizard(person: Person, control: Locator) -> None:
    control.click()
    settle(person.page, "New migration of demo")


def deletes(person: Person, control: Locator) -> None:
    page, name = person.page, draft(person)
    control.click()
    dialog = page.get_by_role("dialog", name=f"Delete {name}?")
    dialog.get_by_label(f"Type {name} to confirm").fill(name)
    button_in(dialog, "Delete pipeline").click()
    settle(page, "Pipelines")
    assert person.root.get(f"/pipelines/{name}").status_code == 404
    create(person.root, name, OURS)


def describes(person: Person, control: Locator) -> None:
    control.click()
    dialog = person.page.get_by_role("dialog")
    dialog.get_by_label("Description").fill(f"Described by {person.name}")
    button_in(dialog, "Save").click()
    expect(dialog).to_have_count(0)
    assert shown(person.root, draft(person))["description"] == f"Described by {person.name}"


def is_there(person: Person, control: Locator) -> None:
    expect(control).to_be_visible()


def exports(person: Person, control: Locator) -> None:
    with person.page.expect_download() as started:
        control.click()
    assert started.value.suggested_filename == "audit.jsonl"


def to_export(person: Person) -> Locator:
    """A link to the file; a button where it is refused."""
    page = person.at("/audit", "Audit")
    name = "Export JSON Lines"
    return button(page, name).or_(page.get_by_role("link", name=name, exact=True))


def link_in_menu(label: str) -> Callable[[Person], Locator]:
    def found(person: Person) -> Locator:
        main = person.at("/", "Pipelines").get_by_role("navigation", name="Main")
        return main.get_by_role("link", name=label, exact=True)

    return found


def button_at(path: str, heading: str, name: str | re.Pattern[str]) -> Callable[[Person], Locator]:
    return lambda person: button(person.at(path, heading), name).first


def constant(
    method: str, path: str, body: dict[str, Any] | None = None
) -> Callable[[Person], tuple[str, str, dict[str, Any] | None]]:
    return lambda _: (method, path, body)


WRITES = by_role(REFUSED, DOES, DOES, DOES)
STORIES = {
    "pause and resume": Story(button_at(DEMO, "demo", "Pause"), constant("POST", f"{DEMO}/pause", {}), pauses, WRITES),
    "acknowledge an alert": Story(
        with_alert,
        lambda person: ("POST", f"/alerts/{alert_of(person)}/acknowledge", {"note": ""}),
        acknowledges,
        WRITES,
    ),
    "publish a revision": Story(
        lambda person: button(person.at(f"/pipelines/{draft(person)}", draft(person)), "Change"),
        lambda person: ("POST", f"/pipelines/{draft(person)}/revisions", {"definition": text_of(draft(person))}),
        publishes,
        WRITES,
    ),
    "create a pipeline": Story(
        lambda person: person.at("/", "Pipelines").get_by_role("link", name="New pipeline"),
        lambda person: ("POST", "/pipelines", {"definition": text_of(f"{person.name}-more")}),
        creates,
        by_role(ABSENT, DOES, DOES, DOES),
    ),
    "describe a pipeline": Story(
        lambda person: item(person, draft(person), "Edit description"),
        lambda person: ("PATCH", f"/pipelines/{draft(person)}", {"description": "no"}),
        describes,
        WRITES,
    ),
    "open the migration wizard": Story(
        lambda person: item(person, "demo", "New migration"),
        constant("POST", "/migrations", {"pipeline": "demo", "kind": "revision"}),
        opens_the_wizard,
        WRITES,
    ),
    "find the wizard in the palette": Story(
        lambda person: palette_item(person, "New migration"),
        constant("POST", "/migrations", {"pipeline": "demo", "kind": "revision"}),
        is_there,
        by_role(ABSENT, DOES, DOES, DOES),
    ),
    "delete a pipeline": Story(
        lambda person: item(person, draft(person), "Delete pipeline"),
        lambda person: ("DELETE", f"/pipelines/{draft(person)}", None),
        deletes,
        by_role(REFUSED, REFUSED, REFUSED, DOES),
    ),
    "drain a host": Story(
        button_at("/hosts", "Hosts", re.compile("^Drain")),
        constant("POST", "/hosts/chaos/drain", {}),
        is_there,
        by_role(REFUSED, REFUSED, REFUSED, REFUSED),
    ),
    "read the audit": Story(
        link_in_menu("Audit"), constant("GET", "/audit"), is_there, by_role(ABSENT, DOES, DOES, DOES)
    ),
    "export the audit": Story(
        to_export,
        constant("GET", "/audit/export?format=jsonl"),
        exports,
        by_role(ABSENT, REFUSED, REFUSED, DOES),
    ),
    "see the names of secrets": Story(
        link_in_menu("Secrets"), constant("GET", "/secrets"), is_there, by_role(ABSENT, DOES, DOES, DOES)
    ),
    "set receivers": Story(
        link_in_menu("Receivers"), constant("GET", "/receivers"), is_there, by_role(ABSENT, ABSENT, ABSENT, DOES)
    ),
    "grant a role": Story(
        lambda person: person.at("/access", "Users and teams").get_by_role(
            "button", name=re.compile(f"^Show roles in {OURS}")
        ),
        constant("PUT", f"/teams/{OURS}/bindings", {"user": "our-viewer", "role": "viewer"}),
        is_there,
        by_role(ABSENT, ABSENT, ABSENT, DOES),
    ),
    "set an approval policy": Story(
        button_at("/migrations/rules", "Freezes and approvals", "Set policy"),
        constant("POST", "/approval-policies", {"approvers": 1, "pipeline": "demo"}),
        is_there,
        by_role(REFUSED, REFUSED, REFUSED, DOES),
    ),
}
"""What each role may do in its own team. A gap of this table is a gap of the product."""


@pytest.mark.parametrize("role", some(ROLE_NAMES, 2))
def test_a_role_is_offered_what_it_may_do_and_told_why_not(
    browser: Browser, stack: Stack, root: httpx2.Client, demo: Stream, role: RoleWord
) -> None:
    with person(browser, stack, root, of(role)) as who:
        found = {name: told(who, story, story.outcomes[role]) for name, story in STORIES.items()}
    assert found == {name: story.outcomes[role] for name, story in STORIES.items()}


def told(who: Person, story: Story, expected: Outcome) -> Outcome | str:
    """The same; a story that breaks off is in the table with its reason, beside the others."""
    try:
        return outcome_of(who, story, expected)
    except (AssertionError, PlaywrightError) as broken:
        return str(broken)[:LONGEST_REASON]


def outcome_of(who: Person, story: Story, expected: Outcome) -> Outcome | str:
    """What becomes of a story; in words where the page and the API disagree."""
    control = story.control(who)
    if expected is DOES:
        expect(control).to_be_visible()
        if is_disabled(control):
            return f"refused: {control.inner_text()}"
        story.does(who, control)
        return DOES
    status = who.asks(*story.request(who))
    if status not in (403, 404):
        return f"the API answers {status}"
    if expected is REFUSED:
        expect(control).to_be_visible()
    if control.count() == 0:
        return ABSENT
    if not is_disabled(control):
        return "it is offered"
    says_why(control)
    return REFUSED


def is_disabled(control: Locator) -> bool:
    return control.get_attribute("aria-disabled") == "true"


def says_why(control: Locator) -> None:
    """Which role it takes: a button in its description, an entry of a menu below its name."""
    words = re.compile("role|[Aa]dministrator|[Oo]perator|[Aa]pprover")
    if control.get_attribute("aria-describedby"):
        expect(control).to_have_accessible_description(words)
    else:
        expect(control).to_contain_text(words)


@pytest.mark.parametrize("role", some(ROLE_NAMES, 2))
def test_a_role_sees_every_screen_of_its_team_and_nothing_of_another(
    browser: Browser, stack: Stack, root: httpx2.Client, role: RoleWord
) -> None:
    with person(browser, stack, root, of(role)) as who:
        page = who.at("/", "Pipelines")
        expect(page.get_by_role("link", name="demo", exact=True)).to_be_visible()
        nothing_of(page, THEIRS)
        tabs_are_there(who)
        for path, heading in SHARED.items():
            nothing_of(who.at(path, heading), THEIRS)
        is_unknown(who, THEIR_PIPELINE)


OUR_NAMES = re.compile(r"\bdemo\b(?!\.)|-draft")
"""The names of this team's pipelines, and not the kind of event that begins alike."""
SHARED = {
    "/fleet": "Fleet",
    "/migrations": "Migrations",
    "/alerts": "Alerts",
    "/events": "Events",
    "/groups": "External consumer groups",
    "/hosts": "Hosts",
    "/access": "Users and teams",
}


def tabs_are_there(who: Person) -> None:
    """Each tab of the flowing pipeline stands, by its own address."""
    for label, path in TABS.items():
        page = who.at(f"{DEMO}{path}", "demo")
        tab = page.get_by_role("navigation", name="Parts of demo").get_by_role("link", name=label, exact=True)
        expect(tab).to_have_attribute("aria-current", "page")
        expect(page.get_by_role("alert")).to_have_count(0)


def nothing_of(page: Page, team: str) -> None:
    """No word on the page is of another team, and none in the palette."""
    expect(page.get_by_text(re.compile(team))).to_have_count(0)
    page.keyboard.press("ControlOrMeta+k")
    palette = page.get_by_role("dialog", name="Command palette")
    palette.get_by_role("textbox").fill(team)
    expect(palette.get_by_role("button", name=re.compile(team))).to_have_count(0)
    page.keyboard.press("Escape")
    expect(palette).to_have_count(0)


def is_unknown(who: Person, name: str) -> None:
    """What another team owns answers as what does not exist, at each address."""
    page = who.page
    page.goto(f"/pipelines/{name}")
    expect(page.get_by_role("heading", name=f"There is no pipeline named {name}")).to_be_visible()
    parts = ("", "/status", "/charts?since=1h", "/ledger/summary", "/topology", "/runs", "/events", "/change-requests")
    paths = [f"/pipelines/{name}{part}" for part in parts]
    assert {path: who.asks("GET", path) for path in paths} == dict.fromkeys(paths, 404)
    nobody = [path.replace(name, "nobody") for path in paths]
    assert {path: who.asks("GET", path) for path in nobody} == dict.fromkeys(nobody, 404)
    assert who.asks("POST", f"/pipelines/{name}/start", {}) in (403, 404)
    for listed in ("/pipelines", "/fleet", "/alerts", "/migrations", f"/alerts?pipeline={name}"):
        text = page.evaluate("async path => (await fetch('/api/v1' + path)).text()", listed)
        assert name not in text, listed


def test_another_team_sees_nothing_of_this_one(browser: Browser, stack: Stack, root: httpx2.Client) -> None:
    with person(browser, stack, root, "rita") as who:
        page = who.at("/", "Pipelines")
        expect(page.get_by_role("link", name=THEIR_PIPELINE)).to_be_visible()
        expect(page.get_by_text("1 pipeline,")).to_be_visible()
        expect(page.get_by_role("link", name="demo", exact=True)).to_have_count(0)
        for path, heading in SHARED.items() | {("/audit", "Audit")}:
            expect(who.at(path, heading).get_by_text(OUR_NAMES)).to_have_count(0)
        is_unknown(who, "demo")
        card = who.at("/alerts", "Alerts").get_by_role("list", name="Firing").get_by_role("listitem")
        expect(card.filter(has_text=THEIR_PIPELINE).first).to_be_visible()
        expect(card.filter(has_not_text=THEIR_PIPELINE)).to_have_count(0)


def test_a_user_of_two_teams_has_in_each_the_role_that_counts_there(
    browser: Browser, stack: Stack, root: httpx2.Client
) -> None:
    break_glass(root, "our-viewer-draft", "publish", definition=text_of("our-viewer-draft", "once more"))
    with person(browser, stack, root, "mia") as who:
        page = who.at("/", "Pipelines")
        for name in ("demo", THEIR_PIPELINE):
            expect(page.get_by_role("link", name=name, exact=True)).to_be_visible()
        refused = re.compile("role|Viewer")
        for label in ("New migration", "Edit description"):
            mine = item(who, "our-viewer-draft", label)
            expect(mine, label).to_have_attribute("aria-disabled", "true")
            expect(mine, label).to_contain_text(refused)
            expect(item(who, THEIR_PIPELINE, label), label).not_to_have_attribute("aria-disabled", "true")
            change = button(who.at("/pipelines/our-viewer-draft", "our-viewer-draft"), "Change")
            expect(change).to_have_attribute("aria-disabled", "true")
        firing = who.at("/alerts", "Alerts").get_by_role("list", name="Firing").get_by_role("listitem")
        ours = firing.filter(has_text="our-viewer-draft").first.get_by_role("button", name=re.compile("^Acknowledge"))
        expect(ours).to_have_attribute("aria-disabled", "true")
        theirs = firing.filter(has_text=THEIR_PIPELINE).first.get_by_role("button", name=re.compile("^Acknowledge"))
        expect(theirs).not_to_have_attribute("aria-disabled", "true")


def test_an_operator_plans_an_approver_approves_and_the_migration_is_committed(
    browser: Browser, stack: Stack, root: httpx2.Client, demo: Stream
) -> None:
    before = demo.pipeline["revision"]
    policy = root.post("/approval-policies", json={"approvers": 1, "pipeline": "demo"}).raise_for_status().json()
    try:
        address = planned(browser, stack, root, demo)
        for role in ("viewer", "operator"):
            cannot_approve(browser, stack, root, of(role), address)
        with person(browser, stack, root, of("approver")) as approver:
            page = approver.at(f"{address}/approve", "New revision: demo")
            button(page, "Approve plan").click()
            expect(page.get_by_role("row", name=re.compile("our-approver.*for this plan"))).to_be_visible()
        with person(browser, stack, root, of("operator")) as operator:
            page = operator.at(f"{address}/approve", "New revision: demo")
            button(page, "Start migration").click()
            expect(page).to_have_url(re.compile("/report$"), timeout=LONG_MS)
            expect(page.get_by_text("Committed", exact=True).first).to_be_visible()
        assert demo.pipeline["revision"] == before + 1
        demo.goes_on(demo.read)
    finally:
        root.delete(f"/approval-policies/{policy['id']}").raise_for_status()


def planned(browser: Browser, stack: Stack, root: httpx2.Client, demo: Stream) -> str:
    """The operator writes the revision and plans; the address of the migration."""
    with person(browser, stack, root, of("operator")) as who:
        page = who.at("/migrations/new?pipeline=demo&kind=revision", "New migration of demo")
        page.get_by_role("textbox", name="Definition").fill(yaml.safe_dump(stamped(demo.demo, "2"), sort_keys=False))
        page.get_by_role("textbox", name="Reason").fill("Release 2")
        button(page, "Verification rules and approval gates").click()
        field = page.get_by_role("textbox", name="Observation window, seconds")
        field.fill("3")
        field.press("Tab")
        button(page, "Next: Plan migration").click()
        expect(page).to_have_url(re.compile("/plan$"))
        expect(page.get_by_role("row", name=re.compile("^Delivered")).first).to_be_visible(timeout=LONG_MS)
        return page.url.removeprefix(stack.url).removesuffix("/plan")


def cannot_approve(browser: Browser, stack: Stack, root: httpx2.Client, name: str, address: str) -> None:
    with person(browser, stack, root, name) as who:
        page = who.at(f"{address}/approve", "New revision: demo")
        for label in ("Approve plan", "Start migration"):
            expect(button(page, label), label).to_have_attribute("aria-disabled", "true")
        made = root.get(address).raise_for_status().json()
        assert who.asks("POST", f"{address}/approve", {"hash": made["plan_hash"]}) == 403
