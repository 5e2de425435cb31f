"""The state-dependent queue against forms that can be written down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.peers.queueing import ReplicaQueue, added_ms, capacity_req_per_ms, queue_state, service_rates


def test_one_seat_is_the_erlang_loss_formula() -> None:
    queue = ReplicaQueue(10.0, 0.0, 0.0, 0.0, 99.0, 1)
    rates = service_rates(queue)
    assert rates == [pytest.approx(1 / 1000)]
    state = queue_state(queue, rates, 0.5e-3)
    assert state.req_per_ms == pytest.approx(0.5e-3 / 1.5)
    assert state.itl_ms == pytest.approx((1000 - 10 * 0 - max(0.0, 10.0)) / 99)


def test_seats_that_do_not_slow_each_other_are_the_loss_system() -> None:
    """β = γ = 0: M/M/2/2 with offered load 1 loses (1/2)/(1 + 1 + 1/2) = 20 %."""
    queue = ReplicaQueue(10.0, 0.0, 0.0, 0.0, 99.0, 2)
    assert queue_state(queue, service_rates(queue), 1e-3).req_per_ms == pytest.approx(0.8e-3)


def test_work_added_by_a_request() -> None:
    queue = ReplicaQueue(10.0, 0.5, 0.01, 4.0, 9.0, 3)
    assert added_ms(queue) == pytest.approx((0.51 * 4 + 0.5 * 9 + 0.01 * 9 * (4 + 5)) / 10)


@given(
    alpha=st.floats(1, 300), beta=st.floats(0, 5), gamma=st.floats(0, 0.2), prompt=st.integers(0, 4000),
    answer=st.integers(1, 2000), seats=st.integers(1, 64), slack=st.floats(1.05, 4),
)  # fmt: skip
def test_a_looser_promise_never_takes_capacity(
    alpha: float, beta: float, gamma: float, prompt: int, answer: int, seats: int, slack: float
) -> None:
    queue = ReplicaQueue(alpha, beta, gamma, prompt, answer, seats)
    alone = queue_state(queue, service_rates(queue), service_rates(queue)[0] * 1e-3)
    tight = capacity_req_per_ms(queue, 0.0, alone.itl_ms * slack, False)
    loose = capacity_req_per_ms(queue, 0.0, alone.itl_ms * slack * 1.5, False)
    free = capacity_req_per_ms(queue, 0.0, 0.0, False)
    assert tight is not None and loose is not None and free is not None
    assert tight <= loose * (1 + 1e-9) <= free * (1 + 1e-9) ** 2
    assert free <= service_rates(queue)[-1]
