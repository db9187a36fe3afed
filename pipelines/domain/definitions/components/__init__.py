"""The catalogue of components: one file `<kind>/<type>.py` each, found by its name."""
