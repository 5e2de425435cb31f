"""Spreading load over hosts: closed forms against the linear programme that they stand for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.verify.reroute import Host, _spread, largest_scale


def host(room, *uses, served=None):
    return Host(tuple(uses), served or (True,) * len(uses[0]), room)


def test_one_class_fills_every_host():
    hosts = [host(2.0, (0.5,), (0.25,)), host(1.0, (1.0,))]
    assert largest_scale([2.0], hosts) == pytest.approx((4 + 1) / 2)
    assert largest_scale([2.0], hosts, [1.0]) == pytest.approx((4 + 1 + 1) / 2)


def test_no_demand_has_no_limit_and_no_host_leaves_the_api():
    assert largest_scale([0.0, 0.0], []) == math.inf
    assert largest_scale([2.0, 1.0], [], [2.0, 0.5]) == pytest.approx(0.5)


def test_a_class_that_no_host_serves_limits_everything():
    only_first = host(5.0, (0.5, 0.0), served=(True, False))
    assert largest_scale([1.0, 1.0], [only_first]) == pytest.approx(0.0)
    assert largest_scale([1.0, 1.0], [only_first, host(1.0, (1.0, 0.5))]) == pytest.approx(2.0)


def test_each_class_goes_where_it_is_cheap():
    good_at_first, good_at_second = host(1.0, (0.5, 1.0)), host(1.0, (1.0, 0.5))
    assert largest_scale([1.0, 1.0], [good_at_first, good_at_second]) == pytest.approx(2.0)
    # Where half as much is enough, the same mix on every host is tried before the programme.
    assert largest_scale([1.0, 1.0], [good_at_first, good_at_second], enough=1.0) == pytest.approx(4 / 3)


positive = st.floats(0.1, 4.0)


@given(
    st.lists(positive, min_size=1, max_size=2),
    st.lists(st.tuples(positive, st.tuples(positive, positive), st.tuples(positive, positive)), min_size=1, max_size=3),
    st.floats(0.0, 0.5),
)
def test_closed_forms_agree_with_the_programme(rates, drawn, share):
    hosts = [Host(tuple(u[: len(rates)] for u in uses), (True,) * len(rates), room) for room, *uses in drawn]
    api = [share * x for x in rates]
    exact = _spread(rates, api, range(len(rates)), hosts)
    assert largest_scale(rates, hosts, api) == pytest.approx(exact, rel=1e-6)
    quick = largest_scale(rates, hosts, api, enough=1.0)
    assert quick <= exact * (1 + 1e-6)
    assert (quick >= 1.0) == (exact >= 1.0) or exact == pytest.approx(1.0)
