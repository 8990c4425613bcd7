"""TPC-C."""
