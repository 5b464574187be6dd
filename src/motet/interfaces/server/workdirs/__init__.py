"""How clients send snapshots of working folders."""
