"""List the steps of a migration and the expected impact of a rollback, from the code that carries them out."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from django.conf import settings

from controlplane.management.rendered import RenderCommand, between_marks
from pipelines.domain.base.states import (
    FORWARD_STAGES,
    WAITING_STAGES,
    MigrationKind,
    MigrationStage,
)
from pipelines.domain.definitions.document.spec import Lifecycle
from pipelines.domain.lifecycle.vocabulary import STAGES
from pipelines.domain.migration.choices import MigrationAction, MigrationChoice, Standing, allowed
from pipelines.domain.migration.observation import DEFAULT_WINDOW
from pipelines.domain.migration.shadow import RECORDS_WITHIN
from pipelines.domain.migration.steps import GATES, SENTENCES, PlannedStep, StepName, back, forward

DELIVERED, OPEN, READ = 1000, 250, 5000
"""Records of the example in the table of expected impact."""


class Command(RenderCommand):
    """`manage.py render_migrations`: writes the generated parts of docs/reference/migrations.md."""

    help = "Write the steps of a migration and the impact of a rollback into docs/reference/migrations.md."
    path = "docs/reference/migrations.md"

    def render(self) -> str:
        """The page, with what stands between its marks made anew."""
        text = (Path(settings.BASE_DIR) / self.path).read_text()
        parts = {"steps": steps_table(), "impact": impact_table()}
        for name, content in parts.items():
            text = between_marks(text, name, content, command="render_migrations")
        return text


def _forward(kind: MigrationKind, life: Lifecycle | None = None, *, of_sink: bool = False) -> list[PlannedStep]:
    shadow = RECORDS_WITHIN if kind is MigrationKind.REVISION else None
    return forward(kind, life or Lifecycle(), window=DEFAULT_WINDOW, longest_batch=0.0, of_sink=of_sink, shadow=shadow)


def _backward(life: Lifecycle | None = None) -> list[PlannedStep]:
    """Every step of every rollback, in order."""
    life = life or Lifecycle()
    ways = [
        back(paused=True, ending=False, ended=False, has_standby=True, promoted=False, life=life),
        back(paused=True, ending=True, ended=False, has_standby=True, promoted=False, life=life),
        back(paused=True, ending=True, ended=True, has_standby=True, promoted=True, translated=True, life=life),
    ]
    return _ordered(ways)


def _ordered(ways: Iterable[Iterable[PlannedStep]]) -> list[PlannedStep]:
    known = {step.name: step for way in ways for step in way}
    return [known[name] for name in StepName if name in known]


def steps_table() -> str:
    """Who does what in each stage, and how long it may take."""
    rows = [_waiting_row(stage) for stage in MigrationStage if stage in WAITING_STAGES]
    rows += [_step_row(step) for step in _all_forward()]
    rows += [_step_row(step) for step in _backward()]
    rows.append(_waiting_row(MigrationStage.NEEDS_ATTENTION))
    head = ["| stage | who acts | step | what it does | time limit |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _waiting_row(stage: MigrationStage) -> str:
    return f"| {stage} | operator | | {STAGES[stage].meaning} | no limit |"


def _all_forward() -> list[PlannedStep]:
    """Every step of every kind, in the order of the stages."""
    return _ordered([*(_forward(kind) for kind in MigrationKind), _forward(MigrationKind.CLUSTER, of_sink=True)])


def _step_row(step: PlannedStep) -> str:
    who = "supervisor, after an operator at a gate" if step.stage in GATES and _opens(step) else "supervisor"
    only = _kinds(step)
    words = SENTENCES[step.name] + (f" Only for {only}." if only else "")
    keys = _keys(step)
    limit = f"{step.seconds:g} s" + (f": {keys}" if keys else "")
    return f"| {step.stage} | {who} | `{step.name}` | {words} | {limit} |"


def _opens(step: PlannedStep) -> bool:
    """Whether it is the first step of its stage."""
    return next(each for each in _all_forward() if each.stage is step.stage).name is step.name


def _kinds(step: PlannedStep) -> str:
    """The kinds that have a step, where not all do."""
    if step.stage is MigrationStage.ROLLING_BACK:
        return f"`{MigrationKind.CLUSTER}`" if step.name is StepName.TRANSLATE_BACK else ""
    having = [
        kind
        for kind in MigrationKind
        if any(step.name is each.name for way in (False, True) for each in _forward(kind, of_sink=way))
    ]
    return "" if len(having) == len(MigrationKind) else _words([f"`{kind}`" for kind in having])


def _keys(step: PlannedStep) -> str:
    """The settings that its limit grows with, found by trying each."""
    found = [
        f"`{key}`"
        for key in _NUMBERS
        if _seconds(step.name, Lifecycle.model_validate({key: _probe(key)})) != step.seconds
    ]
    if step.name is StepName.OBSERVE:
        found.append("`rules.window`")
    if step.name is StepName.SHADOW:
        found.append("`shadow.for`")
    return ", ".join(found)


_NUMBERS = [name for name, value in Lifecycle().model_dump().items() if isinstance(value, float) and value > 0]


def _probe(key: str) -> float:
    """A larger value, so small a step that no rule between settings is broken."""
    return float(getattr(Lifecycle(), key)) + 0.125


def _seconds(name: StepName, life: Lifecycle) -> float:
    ways = [*(_forward(kind, life) for kind in MigrationKind), _forward(MigrationKind.CLUSTER, life, of_sink=True)]
    found = [step.seconds for way in [*ways, _backward(life)] for step in way if step.name is name]
    return found[0]


def impact_table() -> str:
    """What canceling and rolling back mean during each stage."""
    cost = f"expected impact, with {DELIVERED} records delivered and {OPEN} of them in an open batch"
    head = [f"| stage | request | {cost} | steps |", "|---|---|---|---|"]
    found = [(moment, _impact_row(now)) for moment, now in _moments()]
    grouped = itertools.groupby(found, key=lambda each: each[1])
    rows = [f"| {_words([stage for stage, _ in members])} | {impact} |" for impact, members in grouped]
    return "\n".join([*head, *rows])


def _moments() -> Iterator[tuple[str, Standing]]:
    """Stages, those of the new side before and after its first batch, and where it has delivered too few records."""
    yield from ((stage.value, _standing(stage)) for stage in FORWARD_STAGES)
    late, last = f"{FORWARD_STAGES[-2]} and {FORWARD_STAGES[-1]}", FORWARD_STAGES[-1]
    yield f"{late}, from its first batch on", _standing(last, planned=True)
    yield f"{late}, fewer delivered than expected of {READ} read", _standing(last, planned=True, reread=READ)


def _standing(stage: MigrationStage, *, planned: bool = False, reread: int = 0) -> Standing:
    """A migration of the example at the first step of a stage."""
    steps = _forward(MigrationKind.REVISION)
    here = next(place for place, step in enumerate(steps) if step.stage is stage)
    started = {step.name for step in steps[: here + 1]}
    return Standing(
        stage=stage,
        paused=StepName.PAUSE in started,
        old_ended=StepName.END_OLD_RUN in started,
        promoted=StepName.PROMOTE in started,
        planned=planned,
        delivered=DELIVERED,
        open_records=OPEN,
        reread=reread,
        restart=20.0,
    )


def _impact_row(now: Standing) -> str:
    # The old run has ended wherever the standby is checked again.
    ended = FORWARD_STAGES.index(now.stage) > FORWARD_STAGES.index(MigrationStage.APPLYING)
    way = back(
        paused=now.paused, ending=now.old_ended, ended=ended, has_standby=True, promoted=now.promoted, life=Lifecycle()
    )
    choices = [allowed(now, action) for action in (MigrationAction.ABORT, MigrationAction.ROLLBACK)]
    possible = [choice for choice in choices if choice is not None and choice.allowed]
    return f"{_asked(possible)} | {_impact(possible[-1])} | {', '.join(f'`{step.name}`' for step in way)}"


def _asked(choices: Sequence[MigrationChoice]) -> str:
    return " or ".join(f"`{choice.choice}`" for choice in choices)


def _impact(choice: MigrationChoice) -> str:
    impact = choice.impact
    if impact is None:
        return ""
    pause = " No delivery while the old configuration starts." if impact.pause else ""
    return f"{'Exact.' if impact.exact else 'Counted.'} {impact.words}{pause}"


def _words(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _listed(stages: Iterable[MigrationStage], between: str) -> str:
    return between.join(stage.value for stage in MigrationStage if stage in set(stages))
