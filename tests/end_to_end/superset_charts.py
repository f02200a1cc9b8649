"""Charts of Superset against a served gateway; runs in Superset's own environment, with its address as the argument.

Goes out: one JSON document, a list of charts with the SQL that Superset wrote, the number of rows, and what went wrong.
"""

import json
import os
import sys
import tempfile
from datetime import datetime
from pathlib import Path


def configured(home):
    """Superset with a database of its own in a folder."""
    (home / "superset_config.py").write_text(
        f'SECRET_KEY = "{"k" * 42}"\n'
        f'SQLALCHEMY_DATABASE_URI = "sqlite:///{home / "superset.db"}"\n'
        "PREVENT_UNSAFE_DB_CONNECTIONS = False\n"
        'FILTER_STATE_CACHE_CONFIG = EXPLORE_FORM_DATA_CACHE_CONFIG = {"CACHE_TYPE": "SimpleCache"}\n'
        "SILENCE_FAB = True\n",
        encoding="utf-8",
    )
    os.environ.update(SUPERSET_CONFIG_PATH=str(home / "superset_config.py"), SUPERSET_HOME=str(home))
    sys.path.insert(0, str(home))
    from superset.app import create_app

    return create_app()


GRAINS = ("PT1H", "P1D", "P1W", "P1M", "P3M", "P1Y")
COUNT = "COUNT(*)"
NOTHING = {
    "filter": [], "extras": {}, "orderby": [], "inner_from_dttm": None, "inner_to_dttm": None,
    "from_dttm": datetime(2023, 1, 1), "to_dttm": datetime(2023, 7, 1),  # noqa: DTZ001  naive, as columns are
}  # fmt: skip
"""What a chart leaves unsaid; half a year."""


def metric(expression, label):
    return {"expressionType": "SQL", "sqlExpression": expression, "label": label}


def charts():
    """What each chart asks of `visit`, in the words of Superset's query object."""
    base = {"granularity": "started_at", "columns": [], "metrics": ["count"], "row_limit": 1000, "is_timeseries": False}
    cost = {"expressionType": "SIMPLE", "column": {"column_name": "cost"}, "aggregate": "AVG", "label": "AVG(cost)"}
    bars = [metric(COUNT, "visits"), *(metric(f"sfumato_{end}({COUNT})", end) for end in ("low", "high"))]
    found = {}
    for grain in GRAINS:
        found[f"time series by {grain}"] = {**base, "is_timeseries": True, "extras": {"time_grain_sqla": grain}}
    found["big number"] = base
    found["bars"] = {**base, "columns": ["kind"], "orderby": [("count", False)]}
    found["mean"] = {**base, "columns": ["kind"], "metrics": [cost]}
    found["pivot"] = {**base, "columns": ["kind", "day"], "extras": {"time_grain_sqla": "P1M"}}
    found["error bars"] = {**base, "columns": ["kind"], "metrics": bars}
    found["filtered"] = {**base, "filter": [{"col": "kind", "op": "IN", "val": ["test", "surgery"]},
                                            {"col": "cost", "op": ">=", "val": 100}]}  # fmt: skip
    found["text search"] = {**base, "filter": [{"col": "note", "op": "ILIKE", "val": "%test%"}]}
    found["having"] = {**base, "columns": ["kind"], "extras": {"having": "COUNT(*) > 5"}}
    found["custom SQL"] = {**base, "metrics": [metric("SUM(cost) / NULLIF(COUNT(DISTINCT patient_id), 0)", "per head")]}
    found["series limit"] = {**base, "is_timeseries": True, "columns": ["kind"], "series_limit": 2,
                             "series_limit_metric": "count", "extras": {"time_grain_sqla": "P1M"}}  # fmt: skip
    found["values of a filter"] = {**base, "columns": ["kind"], "metrics": [], "is_timeseries": False}
    return found


def main(address):
    with tempfile.TemporaryDirectory() as folder:
        app = configured(Path(folder))
        with app.app_context():
            from flask_appbuilder import Model
            from superset import db
            from superset.connectors.sqla.models import SqlaTable
            from superset.models.core import Database

            Model.metadata.create_all(db.engine)
            database = Database(database_name="gateway", sqlalchemy_uri=address)
            database.set_sqlalchemy_uri(address)
            table = SqlaTable(table_name="visit", schema="public", database=database)
            db.session.add_all([database, table])
            db.session.flush()
            table.fetch_metadata()
            told = {"columns": sorted(column.column_name for column in table.columns), "charts": []}
            for name, asked in charts().items():
                result = table.query({**NOTHING, **asked})
                shown = [str(one) for one in result.df.columns]
                told["charts"].append(
                    {
                        "name": name,
                        "sql": result.query,
                        "rows": len(result.df),
                        "error": result.error_message,
                        "columns": shown,
                    }
                )
    sys.stdout.write("\n" + json.dumps(told, default=str) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
