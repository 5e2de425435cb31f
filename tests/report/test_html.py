"""The review page: whole, inert, offline, and with the numbers of the terminal."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from planner.explain.types import CurvePoint, Infeasibility, Relaxation, Sensitivity, VolumeCurve
from planner.report.charts import WIDE, figure_svg
from planner.report.html import page_html, seen
from planner.report.page import Figure, Page
from planner.report.result import build_result
from planner.report.review import RANKED, recommendation, review_page, title_of
from planner.report.review_facts import begins, committed_usd
from planner.report.review_figures import undominated
from planner.report.review_markdown import page_markdown
from planner.report.table import ranking_rows, result_table
from planner.report.types import PlanView, Result
from tests.report import sample

HOSTILE = (
    '<script>window.pwned=1</script>',
    '"><img src=x onerror="window.pwned=1">',
    "{{ 7*7 }}{% raw %}</style></title>",
    "' onfocus='window.pwned=1' &amp; <svg onload=window.pwned=1>",
    "خدمة الدردشة שלום",
    "\u202e\u2066abc\x00\x1b[31m",
    "x" * 200,
)  # fmt: skip
VOID = {"meta", "br", "hr", "img", "input", "link"}
ALLOWED = {
    "html", "head", "meta", "title", "style", "body", "header", "main", "nav", "footer", "section", "h1", "h2", "h3",
    "p", "ul", "li", "a", "div", "table", "thead", "tbody", "tr", "th", "td", "bdi", "figure", "figcaption", "details",
    "summary", "svg", "g", "path", "line", "rect", "circle", "text", "tspan", "defs", "clippath",
}  # fmt: skip


class Reader(HTMLParser):
    """Checks nesting as it reads; keeps tags with their attributes, text outside of drawings, cells of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open:
            self.cells[-1] += data
        if "svg" not in self.open and "style" not in self.open:
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return reader


def html_of(result: Result, curve: VolumeCurve | None = None) -> str:
    return page_html(review_page(result, curve), title_of(result))


def result() -> Result:
    """Two plans and a tornado."""
    one = build_result(sample.answer())
    first = one.plans[0]
    bar = Sensitivity(
        input="volume", what="volume", unit="tokens/month", now=1e9, low=8e8, high=1.2e9, usd_per_month_low=5000.0,
        usd_per_month_high=6111.0, usd_per_month_now=5320.0, swing_usd_per_month=1111.0,
    )  # fmt: skip
    told = first.explanation.model_copy(update={"tornado": (bar,)})
    second = first.model_copy(
        update={
            "rank": 2, "axis": "least_spot", "title": "Least spot", "buys": ("no spot",),
            "cost": first.cost.model_copy(update={"total_usd_per_month": 7654.0}),
            "axes": first.axes.model_copy(update={"committed_usd": 12345.0}),
        }
    )  # fmt: skip
    return one.model_copy(update={"plans": (first.model_copy(update={"explanation": told}), second)})


def named(name: str) -> Result:
    """The same with a name in every place where a result holds text of others."""

    def renamed(plan: PlanView) -> PlanView:
        return plan.model_copy(
            update={
                "title": name, "buys": (name,),
                "purchases": tuple(p.model_copy(update={
                    "offer": f"{name}/a/b/on_demand", "provider": name, "region": name, "country": name,
                    "operator_jurisdiction": name, "source": name, "confidence": name}) for p in plan.purchases),
                "deployments": tuple(d.model_copy(update={"service": name, "model": name, "pool": name})
                                     for d in plan.deployments),
                "api": tuple(a.model_copy(update={"api": name, "workload": name, "operator_jurisdiction": name})
                             for a in plan.api),
                "cost": plan.cost.model_copy(update={"terms": {**plan.cost.terms, name: 1.0}}),
            }
        )  # fmt: skip

    base = result()
    return base.model_copy(
        update={
            "name": name, "notes": (name,), "plans": tuple(map(renamed, base.plans)),
            "demand": tuple(d.model_copy(update={"workload": name}) for d in base.demand),
            "slices": tuple(s.model_copy(update={"label": f"{name} {s.id}"}) for s in base.slices),
            "provenance": base.provenance.model_copy(update={"assumptions": (name,)}),
            "rejected": tuple(r.model_copy(update={"what": name, "service": name}) for r in base.rejected),
            "asked": (),
        }
    )  # fmt: skip


@pytest.fixture(scope="module")
def page() -> str:
    return html_of(result())


def test_page_is_well_formed_and_uses_only_known_elements(page: str) -> None:
    reader = read(page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert {tag for tag, _ in reader.tags} <= ALLOWED


def test_headings_are_in_order_and_ids_are_unique(page: str) -> None:
    reader = read(page)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch(r"h\d", tag)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in zip([0, *levels], levels, strict=False))
    ids = [a["id"] for _, a in reader.tags if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in reader.tags:
        for key in ("aria-labelledby", "aria-describedby"):
            assert attributes.get(key) is None or attributes[key] in ids
        href = attributes.get("href")
        assert href is None or href.removeprefix("#") in ids


def assert_inert(html: str) -> None:
    """No script, handler or address that loads anything; the policy of the page forbids all of them too."""
    assert "default-src 'none'" in html
    for tag, attributes in read(html).tags:
        assert tag in ALLOWED
        for key, value in attributes.items():
            assert not key.startswith("on")
            assert key not in ("src", "srcset", "action", "xlink:href", "style")
            if key == "href":
                assert str(value).startswith("#")
            elif key not in ("xmlns", "content", "aria-label"):
                assert "://" not in str(value)
            assert "url(" not in str(value) or str(value).startswith("url(#")
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_page_loads_nothing(page: str) -> None:
    assert_inert(page)


@pytest.mark.parametrize("name", [" ".join(HOSTILE[:-1]), HOSTILE[-1]], ids=["markup", "long"])
def test_names_stay_text(name: str) -> None:
    html = html_of(named(name))
    assert_inert(html)
    reader = read(html)
    assert seen(name) in "".join(reader.text)
    assert not re.search("[\x00-\x08\u202a-\u202e\u2066-\u2069]", html)


def test_numbers_of_the_ranked_table_are_those_of_the_terminal(page: str) -> None:
    cells = read(page).cells
    rows = ranking_rows(result())
    table = result_table(result())
    at = cells.index(rows[0][1]) - 1
    assert cells[at : at + len(rows) * len(RANKED)] == [cell for row in rows for cell in row]
    for row in rows:
        assert all(re.search(rf"(?<!\S){re.escape(cell)}(?!\S)", table) for cell in row if " " not in cell)


def figures(page: Page) -> Iterator[Figure]:
    yield from (b for s in page.sections for b in s.blocks if isinstance(b, Figure))


def test_every_chart_is_drawn_twice_with_a_table_a_caption_and_a_name(page: str) -> None:
    reader = read(page)
    drawn = list(figures(review_page(result())))
    assert {f.kind for f in drawn} >= {"stack", "capacity", "front", "tornado", "places"}
    assert sum(tag == "svg" for tag, _ in reader.tags) == 2 * len(drawn)
    assert sum(tag == "figcaption" for tag, _ in reader.tags) == len(drawn)
    labels = [a["aria-label"] for tag, a in reader.tags if tag == "div" and a.get("role") == "img"]
    assert len(labels) == 2 * len(drawn)
    for figure in drawn:
        assert figure.table.rows
        assert {len(row) for row in figure.table.rows} == {len(figure.table.heads)}


def test_every_plan_slice_and_term_is_in_its_chart(page: str) -> None:
    drawn = {f.id: f for f in figures(review_page(result()))}
    assert {r["plan"] for r in drawn["cost-by-term"].rows} == {"1 Cheapest", "2 Least spot"}
    assert {r["term"] for r in drawn["cost-by-term"].rows} == {"reserved", "spot", "api"}
    assert {r["slice"] for r in drawn["capacity-1"].rows} == {"day", "night"}
    assert {r["plan"] for r in drawn["cost-committed"].rows} == {"1 Cheapest", "2 Least spot"}
    assert {(r["country"], r["operator"]) for r in drawn["countries"].rows} == {("FI", "NL"), ("FR", "FR")}
    for text in ("1 Cheapest", "2 Least spot", "reserved", "day", "night"):
        assert re.search(rf"<text[^>]*>{text}</text>", page)


def test_capacity_is_replicas_times_what_one_serves() -> None:
    figure = next(f for f in figures(review_page(result())) if f.id == "capacity-1")
    assert figure.table.rows == (("day", "6.25", "2", "2", "1.5"), ("night", "2.5", "2", "0", "0"))


def test_decisions_say_what_is_signed_by_when_and_add_up() -> None:
    plan = result().plans[0]
    table = next(b for s in review_page(result()).sections if s.id == "decisions" for b in s.blocks)
    signed = next(row for row in table.rows if row[0] == "sign")  # type: ignore[union-attr]
    assert signed[1:] == (
        f"{sample.POOL}/reserved_1y", "1", "2026-11-30", "reserved_1y, 12 months, until 2027-11-30",
        "35,040", "2,920", "now",
    )  # fmt: skip
    assert sum(committed_usd(p) or 0.0 for p in plan.purchases) == plan.axes.committed_usd


def test_what_begins_later_is_expected_and_what_runs_already_needs_no_signature() -> None:
    base = result()
    signed, *others = base.plans[0].purchases
    later = signed.model_copy(update={"tentative": True, "start_month": 3.0, "start_date": "2027-02-28"})
    running = signed.model_copy(update={"existing": True, "start_date": None})
    plan = base.plans[0].model_copy(update={"purchases": (later, running, *others)})
    page = review_page(base.model_copy(update={"plans": (plan,)}))
    rows = next(b for s in page.sections if s.id == "decisions" for b in s.blocks).rows  # type: ignore[union-attr]
    assert [(row[0], row[3], row[-1]) for row in rows if row[1] == signed.offer] == [
        ("expect to sign", "2027-02-28", "tentative"), ("nothing to sign", "runs already", "before"),
    ]  # fmt: skip


@pytest.mark.parametrize(("cash", "shown"), [((5.0, 6.0), ("5.00", "6.00")), ((), ("–", "–")), ((5.0,), ("–", "–"))])
def test_quarters_are_drawn_with_and_without_invoices(cash: tuple[float, ...], shown: tuple[str, ...]) -> None:
    base = result()
    cost = base.plans[0].cost.model_copy(update={"by_quarter": (1000.0, 2000.0), "cash_by_quarter": cash})
    plan = base.plans[0].model_copy(update={"cost": cost})
    drawn = review_page(base.model_copy(update={"plans": (plan,)}))
    figure = next(f for f in figures(drawn) if f.id == "cost-by-quarter")
    assert [row[1:] for row in figure.table.rows] == [("1,000", shown[0]), ("2,000", shown[1])]


def test_days_are_counted_in_months_from_the_first() -> None:
    base = result()
    assert begins(base, 0.0) == "2026-11-30"
    assert begins(base, 3.0) == "2027-02-28"
    assert begins(base.model_copy(update={"starts_on": None}), 3.0) == "month 3"


def test_recommendation_is_three_sentences_with_cost_certainty_and_the_next_plan() -> None:
    said = recommendation(result())
    assert len(said) == 3
    assert "5,320 USD/month" in said[0]
    assert "55 % of the cost is at assumed prices" in said[1]
    assert "It commits 35,040 USD" in said[2]
    assert "Least spot, costs 7,654 USD/month" in said[2]


def test_page_of_an_infeasible_spec_says_what_would_suffice() -> None:
    found = Infeasibility(
        conflicts=(), relaxations=(Relaxation(changes=("policy.budget 500 → 1,818",), total_usd_per_month=1818.0),)
    )
    none = result().model_copy(update={"plans": (), "status": "infeasible", "infeasibility": found})
    html = html_of(none)
    assert_inert(html)
    assert "No plan exists: that is proven." in html
    assert "then the cheapest plan is 1,818 USD/month" in html
    assert 'id="ranked"' not in html


def test_page_of_an_undecided_spec_claims_nothing() -> None:
    html = html_of(result().model_copy(update={"plans": (), "status": "undecided"}))
    assert "No plan was found in the time limit of 60 s." in html
    assert "That proves nothing" in html


def test_page_says_where_the_full_explanation_was_not_made() -> None:
    html = html_of(build_result(sample.answer()))
    assert html.count("The result was made without --explain full") == 2


def test_curve_of_a_break_even_is_drawn_and_listed() -> None:
    points = tuple(
        CurvePoint(
            factor=f, tokens_per_month=f * 1e9, all_api_usd_per_month=f * 100.0, machines_usd_per_month=900.0,
            machines="1 × m", utilization=0.1, best_usd_per_month=min(f * 100.0, 900.0), best_api_share=1.0,
        )
        for f in (0.1, 1.0, 20.0)
    )  # fmt: skip
    curve = VolumeCurve(name="eu-chat", tokens_per_month_now=1e9, points=points, crossover=None)
    figure = next(f for f in figures(review_page(result(), curve)) if f.id == "break-even-curve")
    assert figure.table.rows[2] == ("×20", "20,000 M", "2,000", "900", "900")
    assert_inert(html_of(result(), curve))


def test_same_result_same_bytes() -> None:
    first, second = ([f for f in figures(review_page(result())) if f.kind == "stack"] for _ in range(2))
    assert figure_svg(first[0], WIDE) == figure_svg(second[0], WIDE)


def test_front_leaves_out_what_another_plan_beats() -> None:
    assert undominated([(1, 5), (2, 5), (3, 1), (1, 5)]) == {(1, 5), (3, 1)}


def test_markdown_has_the_same_parts_and_numbers() -> None:
    text = page_markdown(review_page(result()))
    titles = [s.title for s in review_page(result()).sections]
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == titles
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({re.sub(r"\\.", "", line).count("|") for line in block.splitlines()}) == 1
    assert "<script>" not in page_markdown(review_page(named(HOSTILE[0])))


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: the page was not opened in a browser")
def test_browser_reports_no_error_and_asks_for_nothing(tmp_path: Path) -> None:
    target = tmp_path / "review.html"
    target.write_text(html_of(named(HOSTILE[1])), encoding="utf-8")
    done = subprocess.run(
        [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--enable-logging=stderr", "--v=0", f"--log-net-log={tmp_path / 'net.json'}", "--dump-dom", target.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "<h1>" in done.stdout
    assert "pwned=1" in done.stdout
    assert "<img" not in done.stdout
    assert "CONSOLE" not in done.stderr
    asked = re.findall(r'"url":"(https?://[^"]*)"', (tmp_path / "net.json").read_text(errors="replace"))
    assert [u for u in asked if "google" not in u and "gvt1" not in u] == []
