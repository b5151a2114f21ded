from pyspark.sql import SparkSession

from rebalance_audit.lake.session.private_spark import hadoop_conf

OF_HADOOP = "io.file.buffer.size"
OF_MAPREDUCE = "mapreduce.task.io.sort.mb"


def test_settings_go_to_tasks_without_their_origins(spark: SparkSession) -> None:
    """Each would be packed by itself; the settings are all there."""
    conf = hadoop_conf(spark)
    for name in (OF_HADOOP, OF_MAPREDUCE):
        assert conf.get(name) is not None
        assert conf.getPropertySources(name) is None
