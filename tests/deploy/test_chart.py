"""The Helm chart: what it renders is valid, refers to secrets only by name, and starts commands that exist."""

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any, Final

import jsonschema
import kubernetes_validate
import pytest
import yaml

from rebalance_audit.cli import main
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.config import load_config
from rebalance_audit.resources import checkout_root
from rebalance_audit.version import __version__

CHART: Final = checkout_root() / "deploy" / "helm" / "rebalance-audit"
TOOLS: Final = f"{os.environ['PATH']}{os.pathsep}{checkout_root() / '.tools'}"
RELEASES: Final = ("1.30", "1.37")
"""The oldest release of Kubernetes that is tried, and the newest."""
SERVICE_MONITOR: Final = json.loads(
    (Path(__file__).parent / "schemas" / "servicemonitor.json").read_text()
)
NEEDED: Final = {"kafka": {"bootstrapServers": "broker-1:9092,broker-2:9092"}}
VALUES: Final[dict[str, dict[str, Any]]] = {
    "nothing but brokers": NEEDED,
    "everything": {
        "cluster": "blue",
        "kafka": {
            "bootstrapServers": "broker-1:9093",
            "existingSecret": "kafka-login",
            "options": {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": "ScramLoginModule required username='audit' password='${env:PASSWORD}';",
                "ssl.truststore.location": "/run/secrets/kafka/ca.pem",
            },
        },
        "config": {
            "findings": {"storm_epochs": 12},
            "source": {"kafka": {"timeout_ms": 60000, "options": {"client.id": "audit"}}},
        },
        "image": {"repository": "registry.example/audit", "digest": f"sha256:{'0' * 64}"},
        "imagePullSecrets": [{"name": "registry"}],
        "podLabels": {"team": "data"},
        "podAnnotations": {"note": "x"},
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "spot", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "watch": {"groups": ["checkout", "a group, with 'quotes'"], "extraArgs": ["--since=-1d"]},
        "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
        "networkPolicy": {
            "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
            "kafkaPorts": [9093, 9094],
            "extraEgress": [{"ports": [{"protocol": "TCP", "port": 443}]}],
        },
        "lake": {"enabled": True, "existingSecret": "object-storage"},
    },
    "a lake in object storage": {
        **NEEDED,
        "watch": {"enabled": False},
        "rules": {"enabled": False},
        "dashboards": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "serviceAccount": {"name": "auditor"},
        "lake": {"enabled": True, "path": "s3a://lake/audit", "volume": {"enabled": False}},
    },
    "no volume": {**NEEDED, "watch": {"state": {"persistent": False}}},
}


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Helm with these arguments."""
    program = shutil.which("helm", path=TOOLS)
    assert program, "make test-deploy builds it"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def rendered(
    values: dict[str, Any], folder: Path, kubernetes: str = RELEASES[-1]
) -> list[dict[str, Any]]:
    """The manifests that the chart makes of some values."""
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm(
        *("template", "kafka", CHART, "--namespace", "audit"),
        *("--values", file, "--kube-version", f"{kubernetes}.0"),
    )
    assert done.returncode == 0, done.stderr
    return [manifest for manifest in yaml.safe_load_all(done.stdout) if manifest]


@pytest.fixture(params=VALUES)
def manifests(request: pytest.FixtureRequest, tmp_path: Path) -> list[dict[str, Any]]:
    """What the chart makes of each of the values."""
    return rendered(VALUES[request.param], tmp_path)


def pods(manifests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods that the manifests start."""
    found = []
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            found.append(manifest["spec"]["template"])
        elif manifest["kind"] == "CronJob":
            found.append(manifest["spec"]["jobTemplate"]["spec"]["template"])
    assert found
    return found


@pytest.mark.parametrize("name", VALUES)
def test_helm_lint_has_no_warning(name: str, tmp_path: Path) -> None:
    """Strictly: a warning is an error."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(VALUES[name]))
    done = helm("lint", "--strict", CHART, "--values", file, "--kube-version", f"{RELEASES[-1]}.0")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("kubernetes", RELEASES)
@pytest.mark.parametrize("name", VALUES)
def test_manifests_are_valid(name: str, kubernetes: str, tmp_path: Path) -> None:
    """By Kubernetes' own schemas, without a field that they do not know."""
    manifests = rendered(VALUES[name], tmp_path, kubernetes)
    for manifest in manifests:
        if manifest["kind"] == "ServiceMonitor":
            jsonschema.validate(manifest, SERVICE_MONITOR)
        else:
            kubernetes_validate.validate(manifest, kubernetes, strict=True)
    names = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]
    assert len(set(names)) == len(names)


def test_containers_have_no_rights(manifests: list[dict[str, Any]]) -> None:
    """Not root, nothing to write but what is mounted, no capabilities, no token; memory is limited."""
    for pod in pods(manifests):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            assert mounted == {volume["name"] for volume in spec["volumes"]}


def test_commands_and_configuration_are_understood(
    manifests: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The program takes the arguments and the file as the pod gets them."""
    configuration = next(
        manifest["data"]["config.toml"]
        for manifest in manifests
        if manifest["metadata"]["name"].endswith("-config")
    )
    file = tmp_path / "config.toml"
    file.write_text(configuration)
    load_config(file)
    for pod in pods(manifests):
        (container,) = pod["spec"]["containers"]
        arguments = [
            argument.replace("/etc/rebalance-audit/config.toml", str(file))
            for argument in container["args"]
        ]
        group = main.commands.make_context(main.PROGRAM, [*arguments], obj=Invocation())
        command = main.commands.get_command(group, arguments[0])
        assert command is not None
        command.make_context(arguments[0], arguments[1:], parent=group)


def test_values_reach_the_configuration(tmp_path: Path) -> None:
    """Options of the client by their own names, with references to secrets as they were written."""
    manifests = rendered(VALUES["everything"], tmp_path)
    (text,) = (
        manifest["data"]["config.toml"]
        for manifest in manifests
        if manifest["metadata"]["name"].endswith("-config")
    )
    found = tomllib.loads(text)
    options = found["source"]["kafka"]["options"]
    assert options["sasl.jaas.config"].endswith("password='${env:PASSWORD}';")
    assert options["client.id"] == "audit"
    assert found["findings"]["storm_epochs"] == 12
    assert found["cluster"] == "blue"


def test_secrets_are_referred_to_by_name(tmp_path: Path) -> None:
    """The chart makes none, and pods get each key as a variable and, for Kafka, as a file."""
    manifests = rendered(VALUES["everything"], tmp_path)
    assert "Secret" not in {manifest["kind"] for manifest in manifests}
    watch, *_ = pods([each for each in manifests if each["kind"] == "Deployment"])
    (container,) = watch["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "kafka-login"}}]
    assert {"name": "kafka", "mountPath": "/run/secrets/kafka", "readOnly": True} in container[
        "volumeMounts"
    ]
    for job in pods([each for each in manifests if each["kind"] == "CronJob"]):
        (container,) = job["spec"]["containers"]
        names = [each["secretRef"]["name"] for each in container["envFrom"]]
        assert names == ["kafka-login", "object-storage"]


def test_rules_and_dashboards_are_those_of_the_project(tmp_path: Path) -> None:
    """The files that the other pages name, byte for byte."""
    data: dict[str, str] = {}
    for manifest in rendered(NEEDED, tmp_path):
        if manifest["kind"] == "ConfigMap":
            data |= manifest["data"]
    for file in ("conf/alerts/rebalance-audit.yml", "dashboards/grafana/rebalance-audit.json"):
        path = checkout_root() / file
        assert data[path.name].rstrip("\n") == path.read_text().rstrip("\n")


def test_the_service_leads_to_the_pod(tmp_path: Path) -> None:
    """Selectors, ports and probes name what is there; a changed configuration starts another pod."""
    by_kind = {each["kind"]: each for each in rendered(VALUES["everything"], tmp_path)}
    pod = by_kind["Deployment"]["spec"]["template"]
    service, monitor = by_kind["Service"], by_kind["ServiceMonitor"]
    assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    selected = monitor["spec"]["selector"]["matchLabels"].items()
    assert selected <= service["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    assert [port["name"] for port in container["ports"]] == ["metrics"]
    assert monitor["spec"]["endpoints"][0]["port"] == service["spec"]["ports"][0]["name"]
    paths = [
        container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "liveness", "readiness")
    ]
    assert paths == ["/-/healthy", "/-/healthy", "/-/ready"]
    again = rendered({**VALUES["everything"], "cluster": "green"}, tmp_path)
    (other,) = (each for each in again if each["kind"] == "Deployment")
    key = "checksum/config"
    assert (
        other["spec"]["template"]["metadata"]["annotations"][key]
        != pod["metadata"]["annotations"][key]
    )


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({}, "kafka.bootstrapServers must be set"),
        ({**NEEDED, "kafak": {}}, "kafak"),
        ({**NEEDED, "watch": {"port": 0}}, "port"),
        ({**NEEDED, "image": {"digest": "latest"}}, "digest"),
    ],
    ids=["no brokers", "an unknown key", "no port", "no digest"],
)
def test_wrong_values_are_refused(values: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    """With the key in the message."""
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    done = helm(
        *("template", "kafka", CHART, "--values", file),
        *("--kube-version", f"{RELEASES[-1]}.0"),
    )
    assert done.returncode != 0
    assert complaint in done.stderr


def test_the_chart_is_of_this_release() -> None:
    """Its default image has the version of the package."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
