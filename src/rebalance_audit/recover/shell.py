"""Words of a command line for bash, whatever stands in them."""

import shlex

from rebalance_audit.visible import visible


def shell_word(text: str) -> str:
    r"""`text` as one word: `a`, `'a b'`, or `$'a\nb'` where a terminal would not show it as it is."""
    if visible(text) == text:
        return shlex.quote(text)
    return f"$'{''.join(map(_written, text))}'"


def _written(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if " " <= char <= "~":
        return char
    number = ord(char)
    # Of \x, bash takes two digits at most, of \u four: what follows cannot join them.
    if number < 0x80:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
