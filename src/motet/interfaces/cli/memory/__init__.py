"""`motet memory`: lends idle memory, and makes block devices of what others lend."""
