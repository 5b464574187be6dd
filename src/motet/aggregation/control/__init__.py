"""How pMaster starts Aggregators and reaches them."""
