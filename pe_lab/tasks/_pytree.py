"""Dataclasses of arrays as pytrees."""

import dataclasses

import jax


def register(cls: type) -> type:
    """Register a dataclass as a pytree whose children are its fields.

    Unlike `jax.tree_util.register_dataclass`, unflattening does not call `__init__`. JAX unflattens
    trees of placeholders, and the checks of shapes in the tests would reject these.
    """
    names = [field.name for field in dataclasses.fields(cls)]

    def flatten(instance):
        return [getattr(instance, name) for name in names], None

    def flatten_with_keys(instance):
        return [(jax.tree_util.GetAttrKey(name), getattr(instance, name)) for name in names], None

    def unflatten(_, children):
        instance: object = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            # The dataclass is frozen, so that plain assignment fails.
            object.__setattr__(instance, name, child)
        return instance

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
