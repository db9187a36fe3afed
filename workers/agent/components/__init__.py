"""One builder per component: `<kind>/<type>.py` exports `Builder`."""
