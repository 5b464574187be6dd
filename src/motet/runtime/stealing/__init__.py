"""Work stealing inside a mini-batch: idle workers compute for late ones."""
