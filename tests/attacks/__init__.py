"""Attacks on a running installation: each test tries what a hostile user, process or peer would."""
