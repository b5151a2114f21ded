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

_PASSWORD: Final = re.compile(r"(://[^/@:\s]*):(?!\d{1,5}/)[^@\s]*@")
"""A secret key may hold slashes; a port may not be taken for one."""
_QUERY: Final = re.compile(r"(://[^?#]*)\?.*")


def shown_setting(name: str, value: str) -> str:
    """What people may see of a setting of Spark."""
    return shown_location(value) if HARMLESS.fullmatch(name) else HIDDEN


def shown_location(location: str) -> str:
    """A location without the password and the query that a URL may have."""
    without_query = _QUERY.sub(rf"\1?{HIDDEN}", location)
    return _PASSWORD.sub(rf"\1:{HIDDEN}@", without_query)
