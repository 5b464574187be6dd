"""pMaster's threads and connections: events come in, instructions are carried out."""
