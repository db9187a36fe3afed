"""Whether secrets may go where a definition sends them: a finding for each reference and each reason against it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipelines.domain.access.secret_bindings import SecretBinding, SecretUser
from pipelines.domain.access.secret_uses import CLUSTER, SecretUse, Server
from pipelines.domain.base.addresses import address_of
from pipelines.domain.base.findings import Finding, listed

NOT_BOUND = "SECRET_NOT_BOUND"
BY_LABEL = "SECRET_BOUND_BY_LABEL"
NOT_ENCRYPTED = "SECRET_NOT_ENCRYPTED"
_ENCRYPT = {
    "sink/http": "Write https:// in the address.",
    "sink/opensearch": "Write https:// in every address.",
    "sink/postgres": "Give ca, or sslmode=verify-full in the address.",
}
_ENCRYPT_KAFKA = "Set security.protocol to SASL_SSL or SSL."


def secret_findings(
    uses: Sequence[SecretUse],
    user: SecretUser,
    bindings: Mapping[str, SecretBinding],
    *,
    at_launch: bool,
    development: bool,
) -> list[Finding]:
    """What stands against the uses of values that are bound. Others, and those of other teams, are told of where they
    are read; those of clusters are for administrators to place. `at_launch`: all references are replaced, so what
    nothing says is refused. `development`: loopback needs no encryption."""
    found: list[Finding] = []
    for use in uses:
        binding = bindings.get(use.name)
        if binding is not None and binding.exists_for(user) and use.component != CLUSTER:
            found += _of_use(use, user, binding, at_launch, development)
    return found


def _of_use(
    use: SecretUse, user: SecretUser, binding: SecretBinding, at_launch: bool, development: bool
) -> Iterator[Finding]:
    if not binding.allows(user):
        yield _not_bound(use, f"to {user.name}", f"--pipeline {user.name}")
    elif binding.team is None and binding.allows_by_label_alone(user):
        message = (
            f"The secret {use.name} is bound to {user.name} by a label alone, which operators of every team can set."
        )
        advice = (
            f"An administrator binds it by name, or gives it to a team: headgate secrets bind {use.name} --team TEAM"
        )
        yield Finding(path=use.path, code=BY_LABEL, message=message, suggestion=advice, severity="warning")
    if not use.hidden:
        message = f"The secret {use.name} is not allowed here, since logs, pages or records would show it."
        advice = "Use it where a component takes a secret, such as token, password, headers and log-in options."
        yield Finding(path=use.path, code="secret_not_allowed", message=message, suggestion=advice)
    yield from _of_destination(use, binding, at_launch)
    yield from _of_encryption(use, binding, at_launch, development)


def _of_destination(use: SecretUse, binding: SecretBinding, at_launch: bool) -> Iterator[Finding]:
    component = use.component or "this place"
    if not binding.takes(use.component):
        yield _not_bound(use, f"to {component}", f"--destination {component}")
    elif use.servers == () or (use.own and not binding.has_servers):
        if not binding.names(use.component):
            yield _not_bound(use, f"to {component}", f"--destination {component}")
    elif use.servers is None:
        if at_launch:
            message = f"{use.path} does not say where it sends the secret {use.name}, so it is sent nowhere."
            advice = "Write the address without options that name other servers, and without # in it."
            yield Finding(path=use.path, code=NOT_BOUND, message=message, suggestion=advice)
    else:
        for host, port in use.servers:
            if not binding.reaches(host, port):
                server = written((host, port))
                yield _not_bound(use, f"to {server}", f"--destination {server}")


def _of_encryption(use: SecretUse, binding: SecretBinding, at_launch: bool, development: bool) -> Iterator[Finding]:
    if not use.servers and not use.own:
        return
    if use.encrypted or (use.encrypted is None and not at_launch):
        return
    servers = use.servers or ()
    where = listed(map(written, servers)) or use.component
    said = f"The secret {use.name} goes to {where} without encryption"
    advice = _ENCRYPT.get(use.component, _ENCRYPT_KAFKA)
    if binding.stays_unencrypted(use.component, servers):
        message = f"{said}, as it did before bindings came to be; the next change of its binding ends that."
        yield Finding(path=use.path, code=NOT_ENCRYPTED, message=message, suggestion=advice, severity="warning")
    elif development and servers and all(_is_loopback(host) for host, _ in servers):
        message = f"{said}; outside of development it would be refused."
        yield Finding(path=use.path, code=NOT_ENCRYPTED, message=message, suggestion=advice, severity="warning")
    else:
        yield Finding(path=use.path, code=NOT_ENCRYPTED, message=f"{said}.", suggestion=advice)


def _not_bound(use: SecretUse, to: str, option: str) -> Finding:
    return Finding(
        path=use.path,
        code=NOT_BOUND,
        message=f"The secret {use.name} is not bound {to}.",
        suggestion=f"An administrator binds it: headgate secrets bind {use.name} {option}",
    )


def written(server: Server) -> str:
    """A server as it is written in addresses and bindings."""
    host, port = server
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_loopback(host: str) -> bool:
    address = address_of(host)
    return address.is_loopback if address else host.lower().rstrip(".") == "localhost"
