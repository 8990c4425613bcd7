"""The food catalogue."""
