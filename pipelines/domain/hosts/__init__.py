"""What hosts have room for, and what ties a pipeline to one."""
