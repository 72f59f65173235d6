"""The studies that come with an installation, and the base config of every study.

    base         every setting once
    quickstart   a first study: `pe-lab sweep quickstart`
    suite_grid   the standard suite

A config file of your own starts from the base:

    from pe_lab.studies import base
"""
