"""The engine: pure, deterministic, total. Standard library and numpy only; no Django, clock, random or IO."""
