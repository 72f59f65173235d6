"""Texts of config files that differ from the base study by a line."""

STUDY = """
from pe_lab.studies import base
from pe_lab.runs import grid

def get_config():
    c = base.get_config()
    {config}
    return c

def sweep():
    return {sweep}
"""
