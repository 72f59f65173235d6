"""Rules of choice, and shares of variance, of studies that train every seed at every setting."""
