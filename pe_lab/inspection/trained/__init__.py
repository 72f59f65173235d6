"""What a trained model does with positions: what it attends to, what its layers know, what is left
without an encoding, how it fails.
"""
