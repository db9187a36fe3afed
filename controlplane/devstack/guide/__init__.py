"""The guided demo: the cards that break the demo pipeline, observe Headgate, and undo what they did."""
