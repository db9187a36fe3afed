"""Reproducible comparisons of Headgate with its peers on one machine: `make bench`. Never part of the tests."""
