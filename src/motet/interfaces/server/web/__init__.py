"""Web pages: rendered here with Jinja2, kept current by htmx; readable without JavaScript.

A page is a function of the state; tables of jobs come from the read tables.
"""
