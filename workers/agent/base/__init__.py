"""What every part of an agent uses: events, findings, log, masking."""
