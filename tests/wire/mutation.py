"""Damage to bytes, as disks, bugs and other writers cause it."""

import random

_LIVELY_BYTES = (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFF)
"""Values at which lengths, markers and signs change."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with one error: a flipped bit, a changed, lost or added stretch, or an early end."""
    damaged = bytearray(data)
    place = chance.randrange(len(data) + 1)
    size = chance.choice((1, 1, 1, 2, 4, 16))
    match chance.randrange(6):
        case 0 if place < len(data):
            damaged[place] ^= 1 << chance.randrange(8)
        case 1 if place < len(data):
            damaged[place] = chance.choice(_LIVELY_BYTES)
        case 2:
            del damaged[place : place + size]
        case 3:
            damaged[place:place] = chance.randbytes(size)
        case 4:
            damaged[place : place + size] = chance.randbytes(size)
        case _:
            del damaged[place:]
    return bytes(damaged)
