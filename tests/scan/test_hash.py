"""The hash of the compiled walk's tables: no client can choose keys that collide."""

from itertools import product

import numpy as np

from rebalance_audit.scan.numbers import hash_of
from rebalance_audit.scan.scan_buffers import secrets_from

SLOTS = 1 << 17


def hashes(keys: list[bytes], seed: int) -> list[int]:
    """Of each key."""
    secrets = secrets_from(seed)
    return [
        int(hash_of(np.frombuffer(key + bytes(8), np.uint8), 0, len(key), secrets)) for key in keys
    ]


def colliding(words: int) -> list[bytes]:
    """Keys that collide, whatever it begins with, in a hash that multiplies by odd numbers and shifts by 29.

    The highest bit of a word stays where it is in a product with an odd number; the next word takes it out again.
    """
    one, other = (
        bytes(16),
        (1 << 63).to_bytes(8, "little") + (1 << 63 | 1 << 34).to_bytes(8, "little"),
    )
    return [b"".join(parts) for parts in product((one, other), repeat=words // 2)]


def test_keys_made_to_collide_do_not() -> None:
    """They spread over the slots as any others do."""
    keys = colliding(24)
    slots = {found & (SLOTS - 1) for found in hashes(keys, 1)}
    assert len(slots) > 0.95 * len(keys) * (1 - len(keys) / (2 * SLOTS))


def test_the_seed_decides_which_collide() -> None:
    """One seed, one hash; another seed, other neighbours."""
    keys = [f"group-{number}".encode() for number in range(1_000)]
    assert hashes(keys, 1) == hashes(keys, 1)
    assert hashes(keys, 1) != hashes(keys, 2)


def test_long_keys_differ_in_each_byte() -> None:
    """Also beyond the words that the secrets last for, and in their length."""
    base = bytes(700)
    keys = [base, bytes(701), *(base[:at] + b"\1" + base[at + 1 :] for at in range(700))]
    assert len(set(hashes(keys, 3))) == len(keys)
