"""What several instance sources share: their common options and how an instance is built from them."""
