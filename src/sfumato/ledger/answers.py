"""After a charge: its answer, or its failure.

Comes in: a receipt, and the bytes of a noisy answer. Goes out: the answer that everybody who asks the same will get.
Answers lie beside the chain, which holds their digest; the chain stays small and readable.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sfumato.errors import LedgerError
from sfumato.ledger.chain import append, digest, read_entry
from sfumato.ledger.moved_ledger import check_here
from sfumato.ledger.protocol import StoreConnection, dialect_of
from sfumato.ledger.records import Entry, Overtaken, Receipt, Stored, loss_from_dict


def find_answer(connection: StoreConnection, question: str, version: str, epsilon: str) -> Stored | None:
    """The stored answer to exactly this question."""
    row = connection.execute(
        "SELECT body, epsilon, debit, seq FROM answer WHERE question = ? AND version = ? AND epsilon = ?",
        (question, version, epsilon),
    ).fetchone()
    return _load(connection, row) if row else None


def find_best_answer(connection: StoreConnection, question: str, version: str, epsilon: Fraction) -> Stored | None:
    """The same answer to the same question; else one that was drawn at a higher epsilon, the best there is."""
    rows = connection.execute("SELECT epsilon FROM answer WHERE question = ? AND version = ?", (question, version))
    drawn = [Fraction(row[0]) for row in rows.fetchall()]
    if not drawn or max(drawn) < epsilon:
        return None
    return find_answer(connection, question, version, str(epsilon if epsilon in drawn else max(drawn)))


def find_latest_answer(connection: StoreConnection, question: str, version: str) -> Stored | None:
    """The answer that was drawn at the highest epsilon."""
    rows = connection.execute("SELECT epsilon FROM answer WHERE question = ? AND version = ?", (question, version))
    drawn = [Fraction(row[0]) for row in rows.fetchall()]
    return find_answer(connection, question, version, str(max(drawn))) if drawn else None


def check_refines(connection: StoreConnection, question: str, version: str, before: Fraction) -> None:
    """A better answer is drawn given the best one there is, and by one asker at a time.

    Guarantee: for each question and version, refinements form a chain: each starts from the answer of the debit before
        it, and no debit of the same question lies between the two.
    Proof: looked at inside the transaction that writes the debit. Two better answers drawn from one earlier answer
        would be two releases of which only one is the difference away: the earlier answer is a random function of
        either, but not of both.
    Reference: semantics 5.4.
    Checked by: unit::a_better_answer_is_drawn_from_the_last_one
    """
    rows = connection.execute(
        "SELECT epsilon, debit FROM answer WHERE question = ? AND version = ?", (question, version)
    ).fetchall()
    drawn = {Fraction(epsilon): debit for epsilon, debit in rows}
    if before not in drawn or before != max(drawn):
        raise Overtaken("a better answer must start from the best stored one")
    later = connection.execute(
        "SELECT seq FROM spending WHERE question = ? AND seq > ?", (question, drawn[before])
    ).fetchall()
    bodies = [read_entry(connection, seq).body for (seq,) in later]
    if any(body.get("question") == question and body.get("version") == version for body in bodies):
        raise Overtaken("a better answer was requested already")


def _load(connection: StoreConnection, row: tuple[Any, ...]) -> Stored:
    """An answer is given only if it is the one that the chain has recorded."""
    body, epsilon, debit, seq = row
    entry = read_entry(connection, seq)
    if not isinstance(body, bytes) or entry.body.get("digest") != digest(body) or entry.body.get("debit") != debit:
        raise LedgerError(f"the answer of entry {seq} of the ledger was changed")
    return Stored(body, receipt_of(read_entry(connection, debit)), Fraction(epsilon))


def receipt_of(entry: Entry) -> Receipt:
    """The receipt of a debit."""
    if entry.kind != "debit" or entry.analyst is None:
        raise LedgerError(f"entry {entry.seq} of the ledger is not a debit")
    return Receipt(entry.body["receipt"], entry.analyst, loss_from_dict(entry.body["price"]), entry.seq)


def store(connection: StoreConnection, receipt: Receipt, answer: bytes, now: str) -> Stored:
    """Keep the answer of a debit; the first answer to a question wins, whoever drew it."""
    debit = _find_debit(connection, receipt)
    question, version, epsilon = (debit.body[field] for field in ("question", "version", "epsilon"))
    check_here(connection)
    dialect_of(connection).release(connection, question)
    first = find_answer(connection, question, version, epsilon)
    if first is not None:
        if first.receipt.id == receipt.id and first.answer != answer:
            raise LedgerError(
                f"receipt {receipt.id} has another answer already", hint="One charge pays for one answer."
            )
        return first
    if is_failed(connection, receipt):
        raise LedgerError(f"receipt {receipt.id} has failed already", hint="A new answer must be charged again.")
    document = {"receipt": receipt.id, "debit": debit.seq, "digest": digest(answer)}
    entry = append(connection, now, "answer", debit.analyst, document)
    connection.execute(
        "INSERT INTO answer(receipt, question, version, epsilon, body, debit, seq) VALUES(?, ?, ?, ?, ?, ?, ?)",
        (receipt.id, question, version, epsilon, answer, debit.seq, entry.seq),
    )
    return Stored(answer, receipt_of(debit), Fraction(epsilon))


def fail(connection: StoreConnection, receipt: Receipt, now: str) -> None:
    """Record that a question failed after it was paid for; once, however often it is said."""
    debit = _find_debit(connection, receipt)
    dialect_of(connection).release(connection, debit.body["question"])
    if connection.execute("SELECT 1 FROM answer WHERE receipt = ?", (receipt.id,)).fetchone():
        raise LedgerError(f"receipt {receipt.id} has an answer already")
    if not is_failed(connection, receipt):
        document = {"receipt": receipt.id, "debit": debit.seq, "version": debit.body["version"]}
        append(connection, now, "failed", debit.analyst, document)


def _find_debit(connection: StoreConnection, receipt: Receipt) -> Entry:
    """The entry of a receipt: one that the chain does not hold was never paid."""
    try:
        found = receipt_of(entry := read_entry(connection, receipt.seq))
    except LedgerError:
        found = None
    if found != receipt:
        raise LedgerError(f"receipt {receipt.id} is not in the ledger", hint="A charge comes before its answer.")
    return entry


def is_failed(connection: StoreConnection, receipt: Receipt) -> bool:
    """Whether this debit was recorded as failed; failures are few."""
    rows = connection.execute(
        "SELECT seq FROM entry WHERE kind NOT IN ('debit', 'answer') AND kind = 'failed' AND seq > ?", (receipt.seq,)
    ).fetchall()
    return any(read_entry(connection, seq).body.get("receipt") == receipt.id for (seq,) in rows)
