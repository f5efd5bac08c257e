"""Jobs: their spec, life, attempts and everything shown about them."""
