"""A proxy before a server, on loopback, which cuts a connection at the message that it was told to."""

import contextlib
import socket
import threading
import time


class Proxy:
    """Counts what clients send once it is armed; at one of these messages it cuts.

    `before`: the message never arrives. `after`: it arrives, and its reply is lost. `late`: it arrives after the client
    was cut off. All other connections go through, unless it is shut.
    """

    def __init__(self, port):
        self.port, self.sent, self.cut, self.mode, self.shut = port, 0, 0, "", False
        self.cuts = 0
        self._counting = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def arm(self, cut, mode):
        with self._counting:
            self.sent, self.cut, self.mode = 0, cut, mode

    def close(self):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.shut:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self.port))
                threading.Thread(target=self._forward, args=(client, server), daemon=True).start()
                threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _forward(self, client, server):
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                with self._counting:
                    self.sent += 1
                    now = self.mode if self.sent == self.cut else ""
                    self.cuts += bool(now)
                if now:
                    self._end(client, server, data, now)
                    return
                server.sendall(data)
        _close(client, server)

    def _end(self, client, server, data, mode):
        if mode == "after":
            client.shutdown(socket.SHUT_WR)  # first, so that no reply passes
            server.sendall(data)
            time.sleep(0.05)
        else:
            _close(client)
            if mode == "late":
                time.sleep(0.2)
                server.sendall(data)
                time.sleep(0.05)
        _close(client, server)

    def _back(self, server, client):
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                client.sendall(data)
        _close(client, server)


def _close(*sockets):
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
