"""Submissions: jobs that the engine gets at once, and jobs that are held until later."""
