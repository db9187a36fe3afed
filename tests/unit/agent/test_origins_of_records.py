"""The header that tells where a record of a sink came from is read to the letter, and only that of the pipeline."""

from __future__ import annotations

import pytest

from pipelines.domain.trace.question import Place
from workers.agent.evaluation.search import parsed
from workers.agent.graph.component import Unverifiable
from workers.agent.kafka.admin import KafkaCluster
from workers.agent.kafka.locating import Locator

ORIGIN = "orders/shop/lake/orders-in/3/17"
LOCATOR = Locator(KafkaCluster({}, None), {}, ORIGIN, 1.0)


@pytest.mark.parametrize("header", [ORIGIN, f"{ORIGIN}+2", "orders/shop.replay-0a1b2c3d4e5f/lake/orders-in/3/17"])
def test_an_origin_names_a_place(header: str) -> None:
    assert parsed(header.encode(), "orders") == Place(topic="orders-in", partition=3, offset=17)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"\xff/\xff",
        b"payments/shop/lake/orders-in/3/17",
        b"orders/shop/lake/orders-in/3/x",
        b"orders/shop/lake/orders-in/-3/17",
        b"orders/shop/lake/orders-in/3/99999999999999999999",
        b"orders/shop/lake/more/orders-in/3/17",
    ],
)
def test_what_names_no_place_of_this_pipeline_is_refused(header: bytes | None) -> None:
    with pytest.raises(Unverifiable):
        parsed(header, "orders")


@pytest.mark.parametrize(("header", "copy"), [(ORIGIN, 0), (f"{ORIGIN}+2", 2)])
def test_events_of_one_record_are_told_apart(header: str, copy: int) -> None:
    assert LOCATOR.copy_of(header.encode()) == copy


@pytest.mark.parametrize("header", ["", f"{ORIGIN}0", f"{ORIGIN}+", f"{ORIGIN}+x", f"x{ORIGIN}", ORIGIN[:-1]])
def test_headers_of_other_records_are_passed_over(header: str) -> None:
    assert LOCATOR.copy_of(header.encode()) is None
