"""Values that every part of a job shares: options, rows, tables, schedules, reports. Pure."""
