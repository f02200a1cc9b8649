"""How long a decision takes after ten thousand debits, beside dp_accounting's RDP accountant in the same run.

python bench/bench_accounting.py
"""

import time

from sfumato.accounting import PrivacyFilter, Pure, optimal, price, rho_star

DEBITS = 10_000


def best_of(repeats, calls, work):
    """Microseconds a call, the best of several repeats: a busy machine only ever adds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def ours():
    """Price one release and decide on it, with all earlier debits in the sums."""
    budget = PrivacyFilter("best", DEBITS, "1e-6")
    cost = price(Pure("0.1"))
    for _ in range(DEBITS):
        budget.spend(cost)
    print(f"decision after {DEBITS} debits     {best_of(20, 1000, lambda: budget.admits(cost)):10.2f} us")
    priced = best_of(20, 1000, lambda: budget.admits(price(Pure("0.1"))))
    print(f"the same, event and price included {priced:10.2f} us")
    return priced


def theirs():
    """Compose one Laplace release and ask for epsilon, with as many earlier ones composed."""
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    event = dp_event.LaplaceDpEvent(10.0)
    accountant.compose(event, DEBITS)

    def decide():
        accountant.compose(event)
        accountant.get_epsilon(1e-6)

    return best_of(5, 50, decide)


def main():
    """Print the table."""
    own = ours()
    print(f"rho* at start-up                   {once(lambda: rho_star('4.0001', '5e-7')):10.2f} us")
    thousand = once(lambda: optimal("0.1", 0, 1000, total_delta="1e-6"))
    print(f"optimal composition of 1000        {thousand:10.2f} us")
    try:
        other = theirs()
    except ImportError:
        print("dp_accounting is not installed: no ratio")
        return
    print(f"dp_accounting RDP compose+epsilon  {other:10.2f} us   {other / own:.0f} times ours")


def once(work):
    """Microseconds of a single call: these answers are cached."""
    return best_of(1, 1, work)


if __name__ == "__main__":
    main()
