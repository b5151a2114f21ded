"""Options of Kafka's own client from `[source.kafka.options]`: what they refer to, and what may be shown of them.

Any of them may hold a secret: a password, a token, a key in PEM. So a value is shown only where its name is known to be
harmless, and no text that may hold a value goes out before `hide` has gone over it.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

HIDDEN: Final = "(hidden)"
HARMLESS: Final = re.compile(
    r"security\.protocol|sasl\.mechanism|sasl\.kerberos\.service\.name|client\.(id|rack|dns\.lookup)|group\.id"
    r"|ssl\.(protocol|enabled\.protocols|endpoint\.identification\.algorithm|cipher\.suites|provider)"
    r"|ssl\.(key|trust)store\.(type|location)|isolation\.level|config\.providers(\.\w+\.class)?"
    r"|[a-z.]*\.(ms|bytes|records|seconds)"
)
"""Names of options whose values are no secrets."""
REFERENCE: Final = re.compile(r"\$\{(env|file):([^}]+)\}")
"""A reference to an environment variable, or to the content of a file."""
PROVIDERS: Final = "config.providers"
"""Kafka's own way to refer to secrets. Where it is used, references are Kafka's business."""
QUOTED: Final = re.compile(
    r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;\"']+))"
)
"""An option of a login module, as JAAS has them."""
HIDDEN_LENGTH_MIN: Final = 4
"""Shorter texts are in every sentence; hiding them would hide the sentence."""


class BadOption(ValueError):  # noqa: N818 - named for what the user reads
    """An option that cannot be used; the message is one sentence without any value."""


def shown_value(name: str, value: str) -> str:
    """What people may see of a value as given; a text that only refers to a secret is not secret itself."""
    if HARMLESS.fullmatch(name) or _is_mere_reference(value):
        return value
    return HIDDEN


def resolved(options: Mapping[str, str]) -> dict[str, str]:
    """The options with `${env:NAME}` and `${file:PATH}` replaced by what they refer to. Raises BadOption."""
    if PROVIDERS in options:
        return dict(options)
    return {name: _resolve(name, value) for name, value in options.items()}


def secrets_of(options: Mapping[str, str]) -> Iterator[str]:
    """Every text in resolved options that must not be seen."""
    for name, value in options.items():
        if not HARMLESS.fullmatch(name):
            yield value
            yield from (text for key, text in jaas_options(value).items() if key != "username")


def hide(text: str, options: Mapping[str, str]) -> str:
    """A text in which every secret of resolved options is hidden."""
    for secret in sorted(secrets_of(options), key=len, reverse=True):
        if len(secret) >= HIDDEN_LENGTH_MIN:
            text = text.replace(secret, HIDDEN)
    return text


def jaas_options(text: str) -> dict[str, str]:
    """Options of the login module in a `sasl.jaas.config`, by name; empty for any other text."""
    if "LoginModule" not in text:
        return {}
    return {
        match[1]: re.sub(
            r"\\(.)", r"\1", next(part for part in match.groups()[1:] if part is not None)
        )
        for match in QUOTED.finditer(text)
    }


def _is_mere_reference(value: str) -> bool:
    """Whether nothing of a value but references can be a secret: its passwords, or all of it."""
    passwords = [text for key, text in jaas_options(value).items() if key != "username"]
    return all(REFERENCE.fullmatch(part) for part in passwords or [value])


def _resolve(name: str, value: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        kind, place = match.groups()
        if kind == "env":
            found = os.environ.get(place)
            if found is None:
                raise BadOption(
                    f"Kafka option {name} refers to the environment variable {place}, which is not set."
                )
            return found
        try:
            return Path(place).read_text(encoding="utf-8").strip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise BadOption(
                f"Kafka option {name} refers to the file {place}, which cannot be read: {why}."
            ) from None

    return REFERENCE.sub(replacement, value)
