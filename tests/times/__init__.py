"""Where the time of `make test` goes: recorded while it runs (`plugin`, `processes`), printed by `make test-times`."""
