"""Who may use the server: users, tokens and the audit log over HTTP."""
