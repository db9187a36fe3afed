"""Reading migrations, and their evidence."""
