"""The HTTP interface: queries and answers as JSON, CSV, Arrow or Parquet; tokens for programs, cookies for the console.

Comes in: requests. Goes out: the one document of all doors, or the five fields of an error. `door` listens, `guard` is
what every request passes first, `routes` is the table of all that there is, `gatehouse` knows who asks, `desk` calls
the gateway, `reading` and `writing` are bodies, `failing` is errors, `paper` is /openapi.json.
"""

from sfumato.server.http.http_server import HttpDoor
from sfumato.server.http.server_state import HttpLimits

__all__ = ["HttpDoor", "HttpLimits"]
