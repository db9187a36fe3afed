"""What previewers are asked beside the ticks: previews of revisions, and traces of single records."""
