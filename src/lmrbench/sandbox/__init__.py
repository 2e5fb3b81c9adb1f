"""Running code that nobody vouches for: one protocol, two back ends, and the warm worker inside."""
