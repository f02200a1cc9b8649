"""What the tests of the HTTP interface share: a door in a thread, tokens, and clients."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import httpx
from tests.end_to_end.hosting import PASSWORD, Hosted, hosting, let_in

from sfumato.server.audit_log import AuditLog
from sfumato.server.http import HttpLimits, HttpServer
from sfumato.server.tokens import issue
from sfumato.server.users import Users

COUNT = "SELECT COUNT(*) AS n FROM patient"


class Web:
    """A door in a thread of its own, with a token for everybody."""

    def __init__(self, gate, tls=None, names=("ana", "bob", "owner", "auditor"), users=None, **options):
        state = gate.policy.data.state
        self.gate, self.state = gate, Path(state)
        self.users = users or Users(state)
        let_in(self.users, names)
        self.tokens = {name: issue(self.users, name, timedelta(days=1))[1] for name in names}
        self.journal = AuditLog(state)
        self.door = HttpServer(gate, self.users, self.journal, tls=tls, **options)
        self.scheme = "http" if tls is None else "https"
        self._hosted = Hosted(self.door)
        self.host, self.port, self.run = self._hosted.host, self._hosted.port, self._hosted.run

    @property
    def url(self):
        return f"{self.scheme}://{self.host}:{self.port}"

    def client(self, name=None, **options):
        headers = {"Authorization": f"Bearer {self.tokens[name]}"} if name else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False, **options)

    def stop(self):
        self._hosted.stop()
        self.journal.close()


def serving(policy, **options):
    return hosting(policy, partial(Web, **options))


def spent(web, analyst="ana"):
    return web.gate.budget(analyst).spent.epsilon


__all__ = ["COUNT", "PASSWORD", "HttpLimits", "Web", "serving", "spent"]
