"""Reading runs, and the files that they leave."""
