"""Run by Superset's own interpreter: imports a bundle over the API and prints every chart's title and rows.

superset_rows.py BUNDLE.zip: the configuration is that of SUPERSET_CONFIG_PATH, with a user `admin`.
"""

import io
import json
import sys
from pathlib import Path

from superset.app import create_app


def main(bundle: Path) -> None:
    """Print one JSON object: title -> rows, or what went wrong."""
    client = create_app().test_client()
    who = {"username": "admin", "password": "admin", "provider": "db", "refresh": False}
    token = client.post("/api/v1/security/login", json=who).json["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    imported = client.post(
        "/api/v1/dashboard/import/",
        data={"formData": (io.BytesIO(bundle.read_bytes()), "bundle.zip"), "overwrite": "true"},
        headers=headers,
    )
    if imported.status_code != 200:
        sys.exit(f"not imported: {imported.text}")
    found = {}
    charts = client.get("/api/v1/dashboard/rebalance-audit/charts", headers=headers).json
    for chart in charts["result"]:
        response = client.get(f"/api/v1/chart/{chart['id']}/data/", headers=headers)
        found[chart["slice_name"]] = (
            response.json["result"][0]["data"] if response.status_code == 200 else response.text
        )
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
