"""A small model of gateways on one ledger: every order of their steps, with crashes and lost messages anywhere.

Each gateway asks one question: it pays (a transaction), draws, stores (a transaction), and releases. What a transaction
does next is `sfumato.ledger.steps.NEXT`, the table that the code itself walks. The world may, so many times in all:

- lose a message or its reply (for COMMIT also: deliver it after the gateway has given up hearing of it);
- kill a gateway, whose connection the server notices later; it starts again with what it had noted on its disk;
- kill the server, which undoes what was not committed; let it refuse a step, as with a full disk;
- put an older ledger in the place of the newest, on another server or on the same;
- make a gateway lose patience with another that is about to answer the same question.

A state is a value; `explore` visits all of them, and returns how an invariant is broken, or what lines were walked.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from sfumato.ledger.steps import Step, StepReply, StepResult


class Gate(NamedTuple):
    """One gateway."""

    phase: str = "debit"  # debit, store, then done or off
    step: Step | None = None  # None: between two transactions
    number: int = 0  # of its connection
    tries: int = 2
    entry: tuple | None = None  # what the transaction writes
    result: tuple | None = None  # what it will have been told
    receipt: tuple | None = None
    head: tuple = ()  # the chain with the transaction
    seen: tuple = ()  # the chain up to the last entry that it knows
    noted: tuple = ()  # the same, on its disk
    answer: tuple | None = None


class Lock(NamedTuple):
    """Who holds the row `head`: a gateway's connection, what it has written, and whether the gateway still hears it."""

    gate: int
    number: int
    entry: tuple | None
    mode: str  # live, gone, commit


class World(NamedTuple):
    gates: tuple[Gate, ...]
    chain: tuple = ()
    lock: Lock | None = None
    claims: tuple = ()  # (question, gate, number)
    server: int = 0  # which one it is
    recorded: int = 0  # which one the ledger says
    faults: int = 0
    draws: int = 0
    written: frozenset = frozenset()  # everything that was ever committed
    released: frozenset = frozenset()
    denied: frozenset = frozenset()  # entries of which somebody was told that they were not written
    broken: str = ""


class Rules(NamedTuple):
    """What is asked, what the budget allows, what the world may do, and the table."""

    table: dict
    questions: tuple[str, ...] = ("q", "q")
    budget: int = 1
    most: int = 2
    restore: str = ""  # "", "another server", "same server"
    look_needs_lock: bool = True
    returns: bool = False  # who has its answer may be killed too, and asks once more


def explore(rules: Rules):
    """The first broken invariant, or None; and the lines of the table that were walked."""
    start = World(tuple(Gate() for _ in rules.questions))
    known, todo, walked = {start}, deque([start]), set()
    while todo:
        world = todo.popleft()
        for after in moves(world, rules, walked):
            after = judge(after, rules)  # noqa: PLW2901 - the same world, looked at
            if after.broken:
                return after.broken, walked
            if after not in known:
                known.add(after)
                todo.append(after)
    return None, walked


def judge(world, rules):  # noqa: PLR0911 - one for each promise
    """The invariants of docs/promise.md, section 5."""
    if world.broken:
        return world
    debits = [entry for entry in world.chain if entry[0] == "debit"]
    if len(debits) > rules.budget:
        return world._replace(broken="more was charged than the budget")
    if len(world.released) > rules.budget:
        return world._replace(broken="more was released than the budget pays for")
    if len({question for question, _ in world.released}) < len(world.released):
        return world._replace(broken="a question has two answers")
    if world.denied & set(world.chain):
        return world._replace(broken="what was said not to be written is written")
    if not world.faults and len({entry[1] for entry in debits}) < len(debits):
        return world._replace(broken="a question was paid for twice")
    return world


def put(world, which, **changes):
    gates = list(world.gates)
    gates[which] = gates[which]._replace(**changes)
    return world._replace(gates=tuple(gates))


def moves(world, rules, walked):
    """Every world that can come next."""
    for number, gate in enumerate(world.gates):
        if gate.phase in ("done", "off"):
            continue
        if gate.step is None:
            yield put(world, number, step=Step.BEGIN)
            continue
        for heard, after in hear(world, number, rules):
            walked.add((gate.step, heard))
            yield follow(after, number, heard, rules)
    yield from the_world(world, rules)


def free(world):
    return world.lock is None


def fenced(world, gate):
    """Whether the statement that takes the lock says that this is not the ledger that was served."""
    return world.server != world.recorded or world.chain[: len(gate.seen)] != gate.seen


def hear(world, number, rules):  # noqa: C901 - one case for each step
    """What a gateway can hear at its step, and the world with it."""
    gate, question = world.gates[number], rules.questions[number]
    fault = world._replace(faults=world.faults + 1) if world.faults < rules.most else None
    if fault is not None:
        yield StepResult.WRONG, drop(fault, number)
        if gate.step is not Step.NOTE:
            yield StepResult.LOST, lose(fault, number)
    if gate.step is Step.BEGIN:
        waits = any(q == question and g != number for q, g, _ in world.claims) and gate.phase == "debit"
        stored = any(entry[:2] == ("answer", question) for entry in world.chain)
        if free(world) and (not waits or stored):
            yield take(world, number)
        elif free(world) and fault is not None:
            yield take(fault, number)  # it has waited long enough
        elif fault is not None:
            yield StepResult.BUSY, fault
    elif gate.step in (Step.WORK, Step.COMMIT) and not mine(world, number):
        yield StepResult.LOST, unheard(world, number)  # the server was killed meanwhile
    elif gate.step is Step.WORK:
        yield StepResult.DONE, work(world, number, question, rules)
    elif gate.step is Step.COMMIT:
        written = commit(world)
        yield StepResult.DONE, written
        if fault is not None:
            again = world.faults + 1
            yield StepResult.LOST, unheard(written._replace(faults=again), number)  # only the reply was lost
            late = world._replace(lock=world.lock._replace(mode="commit"), faults=again)
            yield StepResult.LOST, unheard(late, number)  # it arrives, but later
    elif gate.step is Step.LOOK:
        if free(world) or not rules.look_needs_lock:
            if fenced(world, gate):
                yield StepResult.OLDER, world
            else:
                there = world.chain[: len(gate.head)] == gate.head
                yield (StepResult.DONE if there else StepResult.ABSENT), world
        elif fault is not None:
            yield StepResult.BUSY, fault
    elif gate.step is Step.NOTE:
        yield StepResult.DONE, put(world, number, seen=gate.head, noted=gate.head)


def take(world, number):
    gate = world.gates[number]
    heard = StepResult.OLDER if fenced(world, gate) else StepResult.DONE
    return heard, world._replace(lock=Lock(number, gate.number, None, "live"))


def work(world, number, question, rules):
    """The rules of the ledger, as far as they matter here: what is written, and what will be told."""
    gate = world.gates[number]
    stored = next((entry for entry in world.chain if entry[:2] == ("answer", question)), None)
    spent = sum(entry[0] == "debit" for entry in world.chain)
    entry, claims = None, world.claims
    if stored is not None:
        result = ("stored", stored[2])
    elif gate.phase == "store":
        entry = ("answer", question, gate.answer, number, gate.number, gate.tries)
        result = ("stored", gate.answer)
    elif spent >= rules.budget:
        result = ("refused",)
    else:
        entry = ("debit", question, number, gate.number, gate.tries)
        result = ("paid", entry)
        claims = (*(c for c in claims if c[:2] != (question, number)), (question, number, gate.number))
    if gate.phase == "store":
        claims = tuple(c for c in claims if c[:2] != (question, number))
    lock = world.lock._replace(entry=entry)
    head = (*world.chain, entry) if entry else world.chain
    return put(world._replace(lock=lock, claims=claims), number, entry=entry, result=result, head=head)


def commit(world):
    entry = world.lock.entry
    if entry is None:
        return world._replace(lock=None)
    return world._replace(chain=(*world.chain, entry), written=world.written | {entry}, lock=None)


def mine(world, number):
    gate = world.gates[number]
    return world.lock is not None and (world.lock.gate, world.lock.number) == (number, gate.number)


def lose(world, number):
    """A message that never arrives: the gateway gives its connection up, the server has not noticed yet."""
    if mine(world, number) and world.lock.mode == "live":
        world = world._replace(lock=world.lock._replace(mode="gone"))
    return unheard(world, number)


def unheard(world, number):
    return put(world, number, number=world.gates[number].number + 1)


def drop(world, number):
    """The server refuses a step, and undoes the transaction."""
    return world._replace(lock=None) if mine(world, number) else world


def follow(world, number, heard, rules):  # noqa: PLR0911 - one for each thing that is told
    """What the table says, and what whoever waits does with what it is told."""
    gate, question = world.gates[number], rules.questions[number]
    then = rules.table[gate.step, heard]
    if isinstance(then, Step):
        return put(world, number, step=then)
    world = put(world, number, step=None)
    if then is StepReply.END:
        return put(drop(world, number), number, phase="off")
    if then is not StepReply.RESULTS:
        world = drop(world, number)
        if then is StepReply.NOTHING and gate.entry is not None:
            world = world._replace(denied=world.denied | {gate.entry})
        world = put(world, number, tries=gate.tries - 1, entry=None, result=None)
        given_up = gate.tries <= 1 or (gate.phase == "debit" and then is StepReply.UNKNOWN)
        return put(world, number, phase="done") if given_up else world
    if gate.result is None or (gate.entry is not None and gate.entry not in world.written):
        return world._replace(broken="somebody was told of what is not written")
    world = put(world, number, entry=None, result=None)
    if gate.result[0] == "paid":
        drawn = world.draws + 1
        return put(world._replace(draws=drawn), number, phase="store", receipt=gate.result[1], answer=(drawn,))
    if gate.result[0] == "stored":
        given = (question, gate.result[1])
        if not any(entry[:3] == ("answer", *given) for entry in world.written):
            return world._replace(broken="an answer was released that is not stored")
        return put(world._replace(released=world.released | {given}), number, phase="done")
    return put(world, number, phase="done")


def the_world(world, rules):
    """What happens without anybody asking; the first two are no faults, they only take time."""
    lock = world.lock
    if lock is not None and lock.mode == "gone":
        yield world._replace(lock=None)
    if lock is not None and lock.mode == "commit":
        yield commit(world)
    for claim in world.claims:
        _, gate, number = claim
        if world.gates[gate].number != number or world.gates[gate].phase in ("done", "off"):
            yield world._replace(claims=tuple(c for c in world.claims if c != claim))
    if world.faults >= rules.most:
        return
    fault = world._replace(faults=world.faults + 1)
    for number, gate in enumerate(world.gates):
        if gate.phase not in ("done", "off") or (
            gate.phase == "done" and rules.returns
        ):  # killed, and started again with what it had noted
            killed = lose(fault, number)
            now = killed.gates[number]
            yield put(
                killed,
                number,
                phase="debit",
                step=None,
                tries=2,
                entry=None,
                result=None,
                receipt=None,
                answer=None,
                number=now.number + 1,
                seen=now.noted,
            )
            if lock is not None and mine(world, number) and gate.step is Step.COMMIT:
                late = fault._replace(lock=lock._replace(mode="commit"))
                yield put(late, number, phase="off", step=None)
    yield fault._replace(lock=None, claims=())  # the server is killed
    if rules.restore and world.chain:
        older = fault._replace(chain=world.chain[:-1], lock=None, claims=())
        yield older._replace(server=world.server + 1) if rules.restore == "another server" else older
