"""What an expression in SQL may never do, however it is written: each attempt is refused before Spark evaluates it.

The definition is not asked here: an agent believes nothing of what it was given.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

from pipelines.domain.sql import checks
from pipelines.domain.sql.functions import functions
from tests.agent.expressions import PATH, In, made
from tests.agent.expressions import Together as AllTogether
from workers.agent.base.findings import Refused
from workers.agent.sql import expression, permitted
from workers.agent.sql.catalyst import Catalyst, class_of
from workers.agent.sql.expression import Unfit, checked

INPUTS = (
    "body string, headers map<string,string>, key string, timestamp timestamp, "
    "json struct<id: bigint, name: string, amount: double, tags: array<string>, items: array<array<int>>>"
)
ENVIRONMENT = "reflect('java.lang.System', 'getenv', 'HOME')"

ATTACKS = {
    # code of the JVM
    "reflect": ENVIRONMENT,
    "java_method": "java_method('java.lang.System', 'getProperty', 'user.home')",
    "try_reflect": "try_reflect('java.lang.Runtime', 'getRuntime')",
    "in upper case": "REFLECT('java.lang.System', 'getenv', 'HOME')",
    "quoted": "`reflect`('java.lang.System', 'getenv', 'HOME')",
    "behind a comment": "reflect/**/('java.lang.System', 'getenv', 'HOME')",
    "behind a comment with a bracket": "reflect /* ( */ -- (\n ('java.lang.System', 'getenv', 'HOME')",
    "behind a comment that goes on": "1 -- '\\\n + reflect('java.lang.System', 'getenv', 'HOME')\n + reflect('a')",
    "with a qualifier": "system.builtin.reflect('java.lang.System', 'getenv', 'HOME')",
    "with quoted qualifiers": "`system`.`builtin`.`reflect`('java.lang.System', 'getenv', 'HOME')",
    "as an identifier": "identifier('reflect')('java.lang.System', 'getenv', 'HOME')",
    "as an identifier that is computed": "identifier('ref' || 'lect')('java.lang.System', 'getenv', 'HOME')",
    "nested": f"upper(lower(concat({ENVIRONMENT}, body)))",
    "in a lambda": f"transform(json.tags, x -> {ENVIRONMENT})[0]",
    "in a cast": f"cast({ENVIRONMENT} AS INT)",
    "in a branch": f"CASE WHEN true THEN 1 ELSE {ENVIRONMENT} END",
    "in an index": f"headers[{ENVIRONMENT}]",
    "in full width": "\uff52\uff45\uff46\uff4c\uff45\uff43\uff54('java.lang.System', 'getenv', 'HOME')",
    "with a soft hyphen": "re\u00adflect('java.lang.System', 'getenv', 'HOME')",
    "with no break": "reflect\u00a0('java.lang.System', 'getenv', 'HOME')",
    "with named arguments": "reflect(class => 'java.lang.System', method => 'getenv')",
    "static invoke": "staticinvoke('java.lang.System')",
    # what Spark replaces in texts
    "a reference to the environment": "'${env:HOME}'",
    "a reference to a property": "'${system:user.home}'",
    "a reference to a setting": "'${spark.driver.host}'",
    "a reference outside of a text": "${env:HOME}",
    "a secret": "'${secret:shop-kafka}'",
    "a function for secrets": "secret('scope', 'key')",
    # who and where
    "the user": "current_user()",
    "the user without brackets": "current_user",
    "the user in quotes": "`current_user`",
    "another name of the user": "session_user",
    "yet another": "user",
    "the user as a part": "concat(key, current_user)",
    "the database": "current_database()",
    "the catalog": "current_catalog",
    "the version": "version()",
    "the time zone": "current_timezone()",
    "the time zone by a default": "convert_timezone('UTC', TIMESTAMP_NTZ'2026-01-31')",
    "a setting": "getconf('spark.app.name')",
    "the file that is read": "input_file_name()",
    "its block": "input_file_block_start()",
    "the partition": "spark_partition_id()",
    # other rows, other tables
    "a subquery": "(SELECT 1)",
    "a subquery with IN": "body IN (SELECT 1)",
    "a subquery with EXISTS": "EXISTS (SELECT 1)",
    "a table": "(TABLE t)",
    "values": "(VALUES (1))",
    "a subquery in a function": "upper((SELECT max(body) FROM t))",
    "a subquery without SELECT": "(FROM t)",
    "an aggregate": "count(body)",
    "an aggregate of the syntax": "first(body)",
    "an aggregate with a filter": "count(1) FILTER (WHERE true)",
    "a window": "row_number() OVER (ORDER BY body)",
    "a window over nothing": "upper(body) OVER ()",
    "a generator": "explode(json.tags)",
    "a generator of rows": "stack(2, 1, 2)",
    "a table function": "range(10)",
    "the star": "*",
    "the star of a struct": "json.*",
    "the star in a function": "to_json(struct(*))",
    "an alias": "upper(body) AS body",
    "an alias without AS": "body UNION",
    "a lateral alias": "named_struct('a', 1 AS b, 'c', b)",
    "a session variable": "session.x",
    "a variable": "system.session.x",
    "another column": "topic",
    "another column in quotes": "`offset`",
    "a hidden column": "_metadata.file_path",
    "a column of the agent": "`json of sources.s.interceptors[0]`",
    "a parameter": ":x",
    "a nameless parameter": "?",
    "a second statement": "1; DROP TABLE t",
    "a whole query": "SELECT 1",
    # files and networks
    "reading a file": "read_files('/etc/passwd')",
    "XML with entities": "xpath_string(body, 'a')",
    "a schema out of a file": "schema_of_avro('{}')",
    "protobuf": "from_protobuf(body, 'A', '/etc/passwd')",
    "an AI function": "ai_query('model', body)",
    "another AI function": "ai_gen(body)",
    "http": "http_request(conn => 'x')",
    # surprises
    "raising": "raise_error('no')",
    "asserting": "assert_true(false)",
    "chance": "rand() < 0.1",
    "a random text": "randstr(5)",
    "a random identifier": "uuid()",
    "a shuffle": "shuffle(json.tags)",
    "a growing number": "monotonically_increasing_id()",
    "encryption with an initial vector by chance": "aes_encrypt(body, '0000111122223333')",
    "now as a constant": "TIMESTAMP 'now'",
    "tomorrow as a constant": "DATE ' TOMORROW '",
    "now in disguise": "TIMESTAMP 'n\\u006fw'",
    "an unknown function": "my_udf(body)",
    "a function of a hint": "/*+ BROADCAST(t) */ body",
    "waiting": "sleep(10)",
    "a collation": "body COLLATE UNICODE",
    # memory and time
    "a text of any length": "repeat(body, 1000000000)",
    "blanks": "space(1000000000)",
    "padding": "lpad(body, 1000000000, ' ')",
    "padding by a number of the event": "rpad(body, json.id, ' ')",
    "a format with a width": "format_string('%1000000000s', body)",
    "a long array": "array_repeat(1, 1000000000)",
    "a sequence": "sequence(1, 1000000000)",
    "a pattern that explodes": "body RLIKE '(a+)+$'",
    "the same as a function": "regexp_replace(body, '(a|a)*b', '')",
    "the same as a raw text": "body RLIKE r'(\\w+\\s?)*=\\1'",
    "a pattern of the event": "body RLIKE key",
    "a pattern that is computed": "regexp_like(body, concat('(a+)', '+$'))",
    "a pattern of the event in LIKE": "body LIKE key",
    "a LIKE that explodes": "body LIKE 'a%b%c%d%e%f'",
    "a pattern to split by": "split(body, '(a+)+$')",
    "a lambda in a lambda": "transform(json.tags, x -> exists(json.tags, y -> y = x))",
    "an expression without end": "1" + " + 1" * 5000,
    "brackets without end": "(" * 2000 + "1" + ")" * 2000,
    "a chain of signs": "- " * 400 + "1",
    "a chain of casts": "body" + "::STRING" * 200,
}


@pytest.fixture(scope="module")
def catalyst(session: SparkSession) -> Catalyst:
    return Catalyst(session)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_agent_refuses(session: SparkSession, attack: str) -> None:
    with pytest.raises(Refused) as caught:
        made(type="sql", set={"headers.a": attack[: checks.LONGEST]}).initialise(session)
    assert all(finding.path == f'{PATH}.set["headers.a"]' for finding in caught.value.findings)
    assert all(finding.code.startswith("SQL_") for finding in caught.value.findings)
    assert all(finding.message and finding.suggestion for finding in caught.value.findings)


@pytest.fixture
def without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no text were looked at before Spark parses it."""
    monkeypatch.setattr(expression, "problems", lambda _text: [])


NEEDS_THE_TEXT = {
    "a reference to the environment",
    "a reference to a property",
    "a reference to a setting",
    "a secret",
    "now as a constant",
    "tomorrow as a constant",
    "now in disguise",
    "an expression without end",
    "brackets without end",
}
"""Constants once they are parsed, and what is too large to parse."""


@pytest.mark.usefixtures("without_names")
@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - NEEDS_THE_TEXT))
def test_the_trees_alone_refuse(session: SparkSession, catalyst: Catalyst, name: str) -> None:
    frame = session.createDataFrame([], INPUTS)
    with pytest.raises(Unfit):
        checked(catalyst, ATTACKS[name], frame)


@pytest.mark.usefixtures("without_names")
def test_no_reference_is_replaced_even_by_the_parser(session: SparkSession, catalyst: Catalyst) -> None:
    frame = session.range(1).select(f.lit("b").alias("body"))
    for text in ("${env:PATH}", "${system:java.home}", "${spark.app.name}"):
        _, selected = catalyst.analysed(catalyst.parsed(f"'{text}'"), frame)
        assert [row[0] for row in selected.collect()] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "reflect('java.lang.System', 'getenv', 'HOME')",
        "current_user",
        "input_file_name()",
        "raise_error('a')",
        "rand()",
        "uuid()",
        "version()",
        "sum(json.id)",
        "aes_encrypt(body, '0000111122223333')",
    ],
)
def test_the_resolved_tree_alone_shows_the_class(session: SparkSession, catalyst: Catalyst, text: str) -> None:
    resolved, _ = catalyst.analysed(catalyst.parsed(text), session.createDataFrame([], INPUTS))
    assert permitted.problems_as_resolved(catalyst, resolved, text)


OPERATORS = (
    "json.id + 1 - 2 * 3 % 4 DIV 5",
    "+json.id / 2 > -1 AND NOT (~json.id & 1 | 2 ^ 3) <= 4 OR json.id < 1 OR json.id >= 3",
    "body LIKE 'a%' OR body ILIKE '%b_' OR body RLIKE 'c' OR body IN ('a', 'b') OR body <=> key || 'a'",
    "CASE WHEN body IS NULL THEN 1 WHEN key IS NOT NULL THEN 2 END",
    "json.tags[0] || headers.a || headers['b']",
    "json.items[0][1]",
    "trim(LEADING 'a' FROM body) || trim(TRAILING 'a' FROM body) || substring(body FROM 1 FOR 2)",
    "timestamp + INTERVAL '1' DAY - INTERVAL 1 MONTH + INTERVAL 2 MONTHS - timestamp > INTERVAL '2' HOUR * 2",
    "DATE'2026-01-31' - DATE'2026-01-01' > INTERVAL '1' DAY / 2",
    "DATE'2026-01-31' + INTERVAL '1' YEAR * 2 / 2 > DATE'2026-01-31' + INTERVAL 1 DAY",
    "get(array(named_struct('a', 1)).a, 0)",
    "parse_json(body):a::STRING",
)


@pytest.fixture(scope="module")
def resolved(session: SparkSession, catalyst: Catalyst) -> dict[str, Any]:
    """The trees of all examples and operators, by the name of the function or the text."""
    frame = session.createDataFrame([], INPUTS)
    texts = {name: function.example for name, function in functions().items()} | {text: text for text in OPERATORS}
    return {name: catalyst.analysed(checked(catalyst, text, frame).node, frame)[0] for name, text in texts.items()}


def test_each_class_that_is_allowed_is_needed(catalyst: Catalyst, resolved: dict[str, Any]) -> None:
    made_of = {class_of(node) for root in resolved.values() for node, _ in catalyst.walk(root)}
    assert permitted.RESOLVED - made_of == set()
    assert all(root.deterministic() for root in resolved.values())


def test_what_is_allowed_is_generated_code_but_for_lambdas(
    session: SparkSession, catalyst: Catalyst, resolved: dict[str, Any]
) -> None:
    jvm: Any = session._jvm
    falls_back = jvm.java.lang.Class.forName("org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback")
    interpreted = {
        name for name, root in resolved.items() if any(falls_back.isInstance(node) for node, _ in catalyst.walk(root))
    }
    by_the_batch = {name for name, function in functions().items() if function.volatile}
    lambdas = {name for name, function in functions().items() if function.group.startswith("Elements of arrays")}
    assert interpreted == by_the_batch | lambdas


def test_each_function_computes_its_example(session: SparkSession) -> None:
    """In one query, beside each other, as an agent does."""
    together = AllTogether(session)
    body = b'{"id":7,"name":"Ada","amount":1.5,"tags":["a","b"],"items":[[1,2]]}'
    headers = [("timestamp", b"1769860800000"), ("country", b"CZ")]
    fields = "id BIGINT, name STRING, amount DOUBLE, tags ARRAY<STRING>, items ARRAY<ARRAY<INT>>"
    names = list(functions())
    for start in range(0, len(names), 40):
        own = names[start : start + 40]
        expressions = {f"body.{name}": functions()[name].example for name in own}
        spec: dict[str, Any] = {"type": "sql", "schema": fields, "set": expressions}
        together.add(str(start), [In(body=body, headers=headers, key=b"k")], [spec])
    for outs in together.sent().values():
        assert [out.problem for out in outs] == [None]


def test_a_type_is_what_spark_says(session: SparkSession, catalyst: Catalyst) -> None:
    frame = session.createDataFrame([], INPUTS)
    found = checked(catalyst, "upper(json.name) || headers.a", frame)
    assert found.type == t.StringType()
    assert found.inputs == {"json", "headers"}
