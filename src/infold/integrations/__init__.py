"""infold inside other tools."""
