"""One builder per component: `<kind>_<type>.py` exports `Builder`."""
