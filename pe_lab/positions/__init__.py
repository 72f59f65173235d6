"""Position schemes: which position each token has. One a file, pure functions of a key and a
mask.
"""
