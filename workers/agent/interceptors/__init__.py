"""Python interceptors: their API, their trial, and the worker that runs them."""
