"""What requests about signing in carry."""

from __future__ import annotations

from pydantic import Field

from pipelines.api.http.requests import Shape, Text


class SignInBody(Shape):
    """`next`: the path of the dashboard to go on to."""

    next: Text = Field(default="/", min_length=1, max_length=2000)
