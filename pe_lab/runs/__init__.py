"""Descriptions of runs. Imports no JAX.

A config is read by config.py into the `Run` of run.py, and its axes are combined by grid.py. The
rooms, each above those that it imports:

- studies: files of a study, its labels and its analysis spec, and first steps of runs
- records: fields, rows and files of the records of runs
- specs: specs of plugins and overrides in a config, and checks of whole runs
- plugins: classes by name, and digests of their files
- settings: declarations, values and labels of settings
- system: files, locks, streams, the terminal and JAX's own settings
"""
