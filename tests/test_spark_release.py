"""Which jars belong to which Spark."""

from pathlib import Path

import pytest

from rebalance_audit.errors import LakeError
from rebalance_audit.lake.session.spark_session import build_session
from rebalance_audit.spark_release import installed_spark_release, spark_releases


@pytest.mark.parametrize(
    ("core", "delta", "kafka"),
    [
        ("spark-core_2.12-3.5.3.jar", "delta-spark_2.12:3.3.3", "0-10_2.12:3.5.7"),
        ("spark-core_2.13-3.5.9.jar", "delta-spark_2.13:3.3.3", "0-10_2.13:3.5.7"),
        ("spark-core_2.13-4.0.5.jar", "delta-spark_2.13:4.0.1", "0-10_2.13:4.0.4"),
        ("spark-core_2.13-4.1.3-amzn-0.jar", "delta-spark_4.1_2.13:4.4.0", "0-10_2.13:4.1.3"),
        ("spark-core_2.13-4.2.0.jar", "delta-spark_4.2_2.13:4.4.0", "0-10_2.13:4.2.0"),
    ],
)
def test_a_spark_gets_its_own_jars(
    core: str, delta: str, kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the release and the Scala of the Spark in SPARK_HOME, also of a vendor's build."""
    install(core, tmp_path, monkeypatch)
    release = installed_spark_release()
    assert release.delta.coordinates == f"io.delta:{delta}"
    assert release.kafka_source.coordinates == f"org.apache.spark:spark-sql-kafka-{kafka}"


def test_a_spark_without_jars_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a sentence that names those that have some."""
    install("spark-core_2.12-3.4.1.jar", tmp_path, monkeypatch)
    with pytest.raises(LakeError, match=r"no jars for Spark 3\.4 \(Scala 2\.12\), only for 3\.5"):
        installed_spark_release()


def test_jars_of_another_spark_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Spark starts: Delta's classes of another Spark would fail one by one."""
    install("spark-core_2.13-4.2.0.jar", tmp_path, monkeypatch)
    (tmp_path / "delta-spark_4.1_2.13-4.4.0.jar").touch()
    with pytest.raises(LakeError, match=r"Spark 4\.2 in .*delta-spark_4\.2_2\.13:4\.4\.0"):
        build_session("test", master="local[1]", jars_folder=tmp_path)


def test_every_release_has_all_that_spark_needs() -> None:
    """Delta Lake with its storage, and the Kafka source with its client."""
    for release in spark_releases():
        names = {jar.artifact for jar in release.jars}
        assert {"delta-storage", "kafka-clients", "commons-pool2"} <= names, release.configuration
        of_scala = [jar.artifact for jar in release.jars if "_2." in jar.artifact]
        assert len(of_scala) == 3, release.configuration
        assert all(name.endswith(release.scala) for name in of_scala), release.configuration


def install(core: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark in SPARK_HOME, as far as its release shows."""
    (folder / "jars").mkdir()
    (folder / "jars" / core).touch()
    monkeypatch.setenv("SPARK_HOME", str(folder))
