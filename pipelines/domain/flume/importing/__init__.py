"""An agent of Flume as a definition: each of its components as one of ours."""
