"""What people may see of a configuration whose keys are other programs' names: what is known to be harmless.

A storage's account key, a catalog's token or a proxy's password can be the value of any setting of Spark, and a URL can
contain one. So a value is shown only where its name is on this list.
"""

import re
from typing import Final

from rebalance_audit.kafka_options import HIDDEN

HARMLESS: Final = re.compile(
    r"spark\.(app\.name|master|submit\.deployMode|default\.parallelism|local\.dir|serializer)"
    r"|spark\.(driver|executor)\.(memory|cores|instances|maxResultSize|memoryOverhead(Factor)?|heartbeatInterval)"
    r"|spark\.(driver\.)?(host|port|bindAddress)"
    r"|spark\.(cores|task|memory|shuffle|dynamicAllocation|scheduler|speculation|locality|rdd|broadcast|cleaner|storage"
    r"|kryoserializer|stage|python)\.[\w.]+"
    r"|spark\.network\.timeout|spark\.rpc\.(message\.maxSize|askTimeout|numRetries)"
    r"|spark\.ui\.(enabled|port|retained\w+|showConsoleProgress)|spark\.eventLog\.(enabled|compress)"
    r"|spark\.sql\.(shuffle|adaptive|files|parquet|codegen|execution|optimizer|join|inMemoryColumnarStorage|streaming"
    r"|sources|statistics|cbo|legacy|ansi|ui|session)\.[\w.]+"
    r"|spark\.sql\.(extensions|catalogImplementation|autoBroadcastJoinThreshold|broadcastTimeout|maxPlanStringLength)"
    r"|spark\.sql\.catalog\.\w+|spark\.databricks\.delta\.[\w.]+|spark\.delta\.logStore\.[\w.]+"
    r"|spark\.jars\.(packages|excludes)|spark\.hadoop\.fs\.(file\.impl|\w+\.impl)"
)
"""Names of settings of Spark whose values are no secrets."""

_WORD: Final = re.compile(r"[^\s'\"`]+")
_PORT: Final = re.compile(r"\d{1,5}/")
_PARAMETER: Final = re.compile(
    r"\b(sig|x-amz-(?:signature|credential|security-token)|(?:account|shared|access)_?(?:access_?)?key|access_token"
    r"|client_secret|password)=[^&;\s'\"`]+",
    re.IGNORECASE,
)
"""Of a query or a connection string that a storage's own error cites without its URL."""


def shown_setting(name: str, value: str) -> str:
    """What people may see of a setting of Spark."""
    return without_credentials(value) if HARMLESS.fullmatch(name) else HIDDEN


def without_credentials(text: str) -> str:
    """A location, or a sentence with such, without passwords, tokens and queries of URLs.

    Whatever prints, logs or stores a location from outside does it through here.
    """
    if "=" not in text and ":/" not in text:
        return text
    text = _WORD.sub(lambda found: _without_credentials(found[0]), text)
    return _PARAMETER.sub(rf"\1={HIDDEN}", text)


def _without_credentials(word: str) -> str:
    scheme, mark, rest = word.partition(":/")  # a path made of a URL has one slash left of two
    if not mark:
        return word
    user, at, host = rest.partition("@")
    name, colon, password = user.partition(":")
    if at and "/" not in name.removeprefix("/"):
        if colon and not _PORT.match(password):  # a secret key may hold slashes
            rest = f"{name}:{HIDDEN}@{host}"
        elif not colon and scheme.endswith(("http", "https")):  # elsewhere that is a container
            rest = f"{'/' * name.startswith('/')}{HIDDEN}@{host}"
    place, mark, query = rest.partition("?")
    return f"{scheme}:/{place}{mark}{HIDDEN if query else ''}"
