"""`make chaos SOAK=3600`: one random fault after the other under load, while an observer compares what the API says
with what it measures itself."""
