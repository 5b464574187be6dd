"""How the server is reached: its socket, its names, TLS, proxies, and limits of connections."""
