"""What another view would answer to the same caller, for an answer that is made of several."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, QueryDict
from rest_framework.request import Request

from pipelines.api.http.base import View


def ask(outer: Request, view: type[View], query: Mapping[str, Any], **kwargs: Any) -> Any:
    """The document of its answer to GET. Every check of the view holds, and raises what it raises. The request does not
    count, and a refusal leaves no row in the audit: the caller has asked for the whole."""
    given = HttpRequest()
    given.method, given.path, given.GET = "GET", outer.path, QueryDict(urlencode(query))
    given.META = {**outer.META, "HTTP_ACCEPT": "*/*"}
    given._force_auth_user, given._force_auth_token = outer.user, outer.auth  # type: ignore[attr-defined]
    asked: Any = view(costs={"GET": 0})
    asked.setup(given, **kwargs)
    asked.request = asked.initialize_request(given, **kwargs)
    asked.headers = asked.default_response_headers
    asked.initial(asked.request, **kwargs)
    response = asked.get(asked.request, **kwargs)
    return json.loads(response.rendered_content) if response.data is None else response.data
