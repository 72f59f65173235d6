"""Inspection of trained models: attention, content and position, probes, knock-outs, failures."""
