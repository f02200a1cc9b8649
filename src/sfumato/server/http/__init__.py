"""The HTTP interface: queries and answers as JSON, CSV, Arrow or Parquet; tokens for programs, cookies for the console.

Comes in: requests. Goes out: the document that every interface returns, or the five fields of an error. `http_server`
listens, `request_checks` run before every page, `routes` is the table of pages, `authentication` says who asks,
`gateway_calls` call the gateway, `request_bodies` and `response_bodies` read and write, `error_responses` are errors,
`openapi` is /openapi.json.
"""

from sfumato.server.http.http_server import HttpServer
from sfumato.server.http.server_state import HttpLimits

__all__ = ["HttpLimits", "HttpServer"]
