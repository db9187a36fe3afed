"""The recipes of the guide about SQL give what it says: each runs through the code that agents run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.domain.sql.checks import expressions_in, problems
from tests.agent.expressions import In, Out, Together

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "sql-interceptors.md"
MOST_TOGETHER = 7


@dataclass(frozen=True)
class Recipe:
    """A section of the page."""

    title: str
    spec: dict[str, Any]
    given: list[dict[str, Any]]
    gives: list[dict[str, Any]]


def recipes() -> Iterator[Recipe]:
    for section in PAGE.read_text().partition("## Recipes")[2].split("\n### ")[1:]:
        title, _, text = section.partition("\n")
        (spec,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
        given, gives = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
        yield Recipe(title, yaml.safe_load(spec), lines(given), lines(gives))


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def event(number: int, given: dict[str, Any]) -> In:
    headers = [(name, value.encode()) for name, value in given.get("headers", {}).items()]
    return In(body=given["body"].encode(), headers=headers, offset=number, key=given.get("key", "").encode() or None)


def told(out: Out) -> dict[str, Any]:
    if not out.kept:
        return {"filtered": True}
    if out.problem:
        return {"dead_letter": " ".join(out.problem[1].split())}
    content = {"key": out.key, "body": out.body}
    texts = {name: value.decode() for name, value in content.items() if value is not None}
    return texts | ({"headers": out.headers} if out.headers else {})


RECIPES = list(recipes())


@pytest.fixture(scope="module")
def outcomes(session: SparkSession) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for start in range(0, len(RECIPES), MOST_TOGETHER):
        together = Together(session)
        for recipe in RECIPES[start : start + MOST_TOGETHER]:
            events = [event(number, given) for number, given in enumerate(recipe.given)]
            together.add(recipe.title, events, [recipe.spec])
        found |= {
            title: [told(out) for out in sorted(outs, key=lambda out: out.offset)]
            for title, outs in together.sent().items()
        }
    return found


def test_there_are_twenty() -> None:
    assert len({recipe.title for recipe in RECIPES}) == len(RECIPES) >= 20


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_gives_what_the_page_says(recipe: Recipe, outcomes: dict[str, list[dict[str, Any]]]) -> None:
    assert outcomes[recipe.title] == recipe.gives
    assert all(problems(text) == [] for text in expressions_in(recipe.spec).values())
