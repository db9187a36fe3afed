"""The command line `headgate`: a client of the REST API. Only `validate` works without a server."""
