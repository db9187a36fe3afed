"""What revisions make of given records: by the code that agents run, beside every pipeline, and without a trace."""
