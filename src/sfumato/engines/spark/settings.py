"""Every setting of Spark that decides what a statement means, how it is planned, or what passes through the driver.

Comes in: the names that are set in a session. Goes out: the values that the gateway sets, and the names that it takes
back. Spark has some hundreds of settings, and a cluster may set any of them for everybody: what is not in a list here
is taken back to Spark's own default in the gateway's session, so that nobody has to know them all.

Guarantee: in the gateway's session every setting of SQL is the gateway's own, Spark's default, or one that decides
    where tables are and how work is divided.
Proof: `SET` lists all that was set, by whoever; each name is in SETTINGS, matches KEPT, or is unset, which leaves
    Spark's default. Static ones cannot be set in a session, and hold for the process: caches, listeners, the warehouse.
Reference: semantics 2.5, 3.1; decisions 077, 088, 101.
Checked by: unit::no_setting_of_a_cluster_changes_a_statement, unit::a_setting_that_decides_types_is_looked_at,
    unit::a_person_in_several_buckets_is_one_person, unit::no_private_row_is_sent_by_the_driver
"""

from __future__ import annotations

import re

_BY_ROWS = (
    "org.apache.spark.sql.execution.adaptive.AQEPropagateEmptyRelation",
    "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "org.apache.spark.sql.catalyst.optimizer.OptimizeOneRowPlan",
    "org.apache.spark.sql.catalyst.optimizer.EliminateLimits",
)
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.crossJoin.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.avro.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    # the type of a column comes from declarations, never from the values or the files of all (088)
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.int96AsTimestamp": "true",
    "spark.sql.parquet.int96TimestampConversion": "false",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.respectSummaryFiles": "false",
    # a file that cannot be read is an error, and not a part of the rows less
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreInvalidPartitionPaths": "false",
    # where a row lies says nothing about whose it is: in two buckets one person would be two (101)
    "spark.sql.sources.bucketing.enabled": "false",
    "spark.sql.sources.v2.bucketing.enabled": "false",
    "spark.sql.adaptive.enabled": "true",
    # adaptive plans choose joins and parts by sizes; these would rewrite a statement by which rows there are (077)
    "spark.sql.adaptive.optimizer.excludedRules": ",".join(_BY_ROWS),
    # pushes an EXISTS through a UNION without its columns, and then fails
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.PushProjectionThroughUnion",
    # what is sent to all workers is collected by the driver first: public rows alone, which their hint says (101)
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    "spark.sql.optimizer.runtimeFilter.semiJoinReduction.enabled": "false",
    "spark.sql.broadcastTimeout": "-1",
    # where no part of a side is larger, it is held in memory instead of being sorted
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "16777216b",
}
"""What the gateway sets in its own session, whatever a cluster says."""
KEPT = re.compile(
    r"spark\.sql\.(catalog\..+|defaultCatalog|shuffle\.partitions|files\.(max|min)Partition(Bytes|Num)"
    r"|files\.openCostInBytes|adaptive\.(advisoryPartitionSizeInBytes|(coalescePartitions|skewJoin|localShuffleReader)\..+)"
    r"|artifact\..+|hive\.metastore\..+)"
)
"""What a cluster may set: where tables are, and how work is divided."""


def taken_back(names: list[str]) -> list[str]:
    """The settings of SQL among these that are neither ours nor a cluster's own business.

    >>> taken_back(["spark.sql.ansi.enabled", "spark.sql.catalog.lake", "spark.sql.cbo.enabled", "spark.app.name"])
    ['spark.sql.cbo.enabled']
    """
    own = (name for name in names if name.startswith("spark.sql.") and name not in SETTINGS)
    return sorted(name for name in own if not KEPT.fullmatch(name))
