"""Optional parts, each with its own door. The core never imports them; README.md has the rules."""
