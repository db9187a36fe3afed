"""A migration's events: each stage and each change of the pipeline once."""

from __future__ import annotations

from pipelines.models import Event
from tests.simulation.test_migrations_survive_everything import over, small_chunks, start, world
from tests.simulation.world import World

__all__ = ["small_chunks", "world"]


def test_a_migration_is_told_once(world: World) -> None:
    before = Event.objects.count()
    start(world)
    world.run_until(lambda: over(world), within=60)
    found = list(Event.objects.order_by("id").values_list("kind", "message"))[before:]
    stages = [kind.removeprefix("migration.") for kind, _ in found if kind.startswith("migration.")]
    reached = [stage for stage in stages if stage != "updated"]
    assert reached == [
        "planned",
        "approved",
        "preflight",
        "pausing",
        "pause_proven",
        "snapshot",
        "applying",
        "ready_to_cut_over",
        "resuming",
        "verifying",
        "committed",
    ]
    others = [message for kind, message in found if kind != "migration.updated"]
    assert len(others) == len(set(others)), found
