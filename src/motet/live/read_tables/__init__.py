"""Tables for lists that people filter, sort and page; rebuilt from the state at every start."""
