"""The report in a real browser: every figure is drawn, and answers to the mouse."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.report.runs import CHEAP, TRAINING, limited, mixed, several, told
from tests.report.test_page import EVIL, evil_run
from tests.report.test_watching import served

from infold import Optimizer, methods, report
from infold.report.contents import page_data
from infold.report.subject import Subject, subject_of

pytestmark = pytest.mark.integration
WIDTHS = (1280, 390)
FIGURES = {
    "auto": 14,
    "mgpc": 13,
    "mixed": 9,
    "one": 9,
    "empty": 0,
    "evil": 8,
    "limited": 11,
    "never feasible": 11,
    "two": 12,
    "three": 10,
    "one of two": 9,
    "evil two": 9,
}


@pytest.fixture(scope="session")
def browser() -> Iterator:
    from playwright.sync_api import sync_playwright

    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.fail("no Chromium: on Debian or Ubuntu, apt-get install chromium")
    with sync_playwright() as playwright:
        # As root, Chromium starts only without its sandbox.
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


def run(name: str, n: int = 30) -> Optimizer:
    optimizer = Optimizer([(0.0, 1.0)] * 24, method=methods.by_name(name, **CHEAP), seed=0)
    for i in range(n):
        x = optimizer.ask()
        value = None if i == 15 else float(((x - 0.4) ** 2).sum())
        optimizer.tell(x, value, seconds=0.1, error="the simulator broke" if i == 15 else None)
    return optimizer


@pytest.fixture(scope="session")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Pages of several runs."""
    folder = tmp_path_factory.mktemp("pages")
    runs = {
        "auto": run("auto"),
        "mgpc": run("mgpc"),
        "mixed": told(14, space=mixed(), direction="maximize"),
        "one": told(1),
        "empty": Optimizer([(0.0, 1.0)] * 2),
        "evil": Subject(evil_run(), constraint_names=[EVIL, "b"]),
        "limited": limited(30),
        "never feasible": limited(12, slack=3.0),
        "two": several(40, limits=True),
        "three": several(40, n_objectives=3),
        "one of two": several(1),
        "evil two": Subject(evil_run(2), constraint_names=[EVIL, "b"]),
    }
    for name, each in runs.items():
        report.write(each, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in runs}


def opened(browser, path: Path, width: int):
    """Return the page when all is drawn, and what its console says, to which more may come."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(10_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.append(f"asked for {request.url}"))
    page.goto(path.as_uri())
    said.remove(f"asked for {path.as_uri()}")
    page.wait_for_selector("body[data-drawn]")
    return page, said


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(("name", "figures"), FIGURES.items())
def test_every_figure_is_drawn_without_a_word(browser, pages, name, figures, width):
    page, said = opened(browser, pages[name], width)
    assert page.locator("canvas").count() == figures
    # A figure that is drawn has pixels of several colours.
    blank = page.evaluate(
        """() => [...document.querySelectorAll("canvas")].filter(canvas => {
            const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            return new Set(new Uint32Array(data.data.buffer)).size < 5;
        }).length"""
    )
    assert blank == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert said == []
    page.close()


def test_figures_are_drawn_when_they_come_near_or_the_browser_is_idle(browser, pages):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script("window.requestIdleCallback = () => {}")  # a browser that is never idle
    page.goto(pages["auto"].as_uri())
    page.wait_for_selector("body[data-opened]")
    in_window = page.locator("canvas").count()
    assert 1 <= in_window < 14
    assert page.locator("body[data-drawn]").count() == 0
    for section in page.locator("main section:not([hidden])").all():
        section.scroll_into_view_if_needed()
        page.wait_for_timeout(300)
    page.wait_for_selector("body[data-drawn='14']")
    assert page.locator("canvas").count() == 14
    page.close()


def test_a_choice_that_is_made_before_its_figure_is_drawn_is_kept(browser, pages):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.add_init_script("window.requestIdleCallback = () => {}")
    page.goto(pages["auto"].as_uri())
    page.wait_for_selector("body[data-opened]")
    page.evaluate("document.querySelector('#tools-tenth button').click()")
    page.locator("#chart-tenth").scroll_into_view_if_needed()
    page.locator("#chart-slices-0").scroll_into_view_if_needed()
    page.wait_for_selector("#chart-slices-0 canvas")
    assert page.evaluate("views.get('chart-tenth').spec.height") == 24 * 22
    page.close()


def place_of(page, chart: str, mark: str, test: str = "() => true") -> tuple[float, float]:
    """Return where in the window an item of a figure is: the first that passes the test."""
    page.locator(f"#{chart}").scroll_into_view_if_needed()
    return page.evaluate(
        f"""() => {{
            const view = views.get("{chart}").view, found = [];
            const look = (item, x, y) => {{
                if (item.items) item.items.forEach(each =>
                    look(each, x + (item.marktype ? 0 : item.x || 0),
                        y + (item.marktype ? 0 : item.y || 0)));
                if (item.mark && item.mark.name === "{mark}" && ({test})(item.datum))
                    found.push([x + item.x, y + item.y]);
            }};
            const [x, y] = view.origin(), pad = view.padding();
            look(view.scenegraph().root, x + pad.left, y + pad.top);
            const frame = document.querySelector("#{chart} canvas").getBoundingClientRect();
            return [frame.left + found[0][0], frame.top + found[0][1]];
        }}"""
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_hovering_tells_and_a_click_chooses_in_all_figures(browser, pages, width):
    page, said = opened(browser, pages["auto"], width)
    at = place_of(page, "chart-convergence", "points_marks", "datum => datum.n === 3")
    page.mouse.move(*at)
    page.wait_for_selector("#vg-tooltip-element.visible")
    tooltip = page.locator("#vg-tooltip-element").inner_text()
    assert "proposed by" in tooltip
    assert "design" in tooltip
    page.mouse.click(*at)
    panel = page.locator("#chosen")
    panel.wait_for(state="visible")
    assert "Evaluation 3" in panel.inner_text()
    chosen = page.evaluate("[...views.values()].map(made => made.view.signal('chosen'))")
    assert set(chosen) == {2}
    page.locator("#close").click()
    assert not panel.is_visible()
    page.locator("#table-failures button").first.click()
    assert "the simulator broke" in panel.inner_text()
    assert said == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("name", "chart", "word"),
    [
        ("limited", "chart-convergence", "feasible"),
        ("limited", "chart-constraints-0", "state"),
        ("two", "chart-front", "objective 1"),
        ("two", "chart-volume", "share dominated"),
        ("two", "chart-tenth", "objective 1"),
        ("three", "chart-front", "objective 2"),
    ],
)
def test_points_of_outcomes_tell_and_are_chosen_everywhere(
    browser, pages, name, chart, word, width
):
    page, said = opened(browser, pages[name], width)
    at = place_of(page, chart, "points_marks")
    page.mouse.move(*at)
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert word in page.locator("#vg-tooltip-element").inner_text()
    page.mouse.click(*at)
    page.locator("#chosen").wait_for(state="visible")
    chosen = set(page.evaluate("[...views.values()].map(made => made.view.signal('chosen'))"))
    assert len(chosen) == 1
    (i,) = chosen
    rows = dict(row.split("\t") for row in page.locator("#chosen tbody tr").all_inner_texts())
    values = page.evaluate(f"DATA.values[{i}]")
    told = (
        [rows[f"objective {j}"] for j in range(len(values))]
        if name != "limited"
        else [rows["value"]]
    )
    assert [float(each) for each in told] == pytest.approx(values)
    if name != "three":
        limits = page.evaluate(f"DATA.constraints.values[{i}]")
        assert float(rows["constraint 0"]) == pytest.approx(limits[0])
        assert rows["feasible"] == ("yes" if max(limits) <= 0 else "no")
    assert said == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_points_that_violate_a_constraint_can_be_chosen_too(browser, pages, width):
    for name, chart in (("limited", "chart-convergence"), ("two", "chart-front")):
        page, said = opened(browser, pages[name], width)
        if name == "two":
            page.locator("#zoom-front").select_option("all")
            page.wait_for_timeout(300)
        page.mouse.click(*place_of(page, chart, "infeasible_marks"))
        panel = page.locator("#chosen")
        panel.wait_for(state="visible")
        assert "feasible\tno" in panel.inner_text()
        assert said == []
        page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_the_pair_of_objectives_and_the_objective_of_a_model_can_be_chosen(browser, pages, width):
    page, said = opened(browser, pages["three"], width)
    axes = "views.get('chart-front').spec.layer[0].encoding"
    _, across, up = page.locator("#tools-front select").all()
    across.select_option("2")
    page.wait_for_function(f"{axes}.x.field === 'v2' && {axes}.y.field === 'v1'")
    across.select_option("1")  # the other axis takes what this one had
    page.wait_for_function(f"{axes}.x.field === 'v1' && {axes}.y.field === 'v2'")
    assert up.input_value() == "2"
    assert page.evaluate(f"{axes}.x.scale.domain.length") == 2
    page.locator("#zoom-front").select_option("all")
    page.wait_for_function(f"{axes}.x.scale.domain === undefined")
    for id, chart in (("slices", "slices-0"), ("importance", "importance"), ("tenth", "tenth")):
        spec = f"JSON.stringify(views.get('chart-{chart}').spec)"
        before = page.evaluate(spec)
        page.locator(f"#tools-{id} select").select_option("1")
        page.wait_for_function(f"before => {spec} !== before", arg=before)
    name = page.evaluate("DATA.models[1].slices[0].name")
    chosen = page.locator("#panes-slices select").first
    assert chosen.evaluate("made => made.selectedOptions[0].text") == name
    page.locator("#tools-predictions select").select_option("1")
    note = page.evaluate("DATA.models[1].left_out.note")
    page.wait_for_function("note => at('note-left-out').textContent === note", arg=note)
    assert said == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_say_what_the_run_knows_of_constraints_and_the_front(browser, pages, width):
    page, said = opened(browser, pages["limited"], width)
    assert page.locator("#table-constraints tbody tr").count() == 2
    assert "feasible" in page.locator("#table-best").inner_text()
    scale = "views.get('chart-constraints-1').spec.layer[1].encoding.y.scale"
    assert page.evaluate(f"{scale}.domain.length") == 2
    page.locator("#zoom-constraints").select_option("all")
    page.wait_for_function(f"{scale}.domain === undefined")
    page.close()
    page, said = opened(browser, pages["two"], width)
    points = page.evaluate("DATA.front.evaluations")
    links = page.locator("#table-front tbody button")
    assert links.all_inner_texts() == [f"#{i + 1}" for i in points]
    links.first.click()
    assert f"Evaluation {points[0] + 1}" in page.locator("#chosen").inner_text()
    assert said == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_slices_and_axes_can_be_chosen(browser, pages, width):
    page, said = opened(browser, pages["auto"], width)
    before = page.evaluate("views.get('chart-slices-0').spec.layer[0].data.values[0].mean")
    page.locator("#panes-slices select").first.select_option(index=7)
    page.wait_for_function(
        f"views.get('chart-slices-0').spec.layer[0].data.values[0].mean !== {before}"
    )
    page.locator("#zoom").select_option("half")
    page.locator("#tools-tenth button").click()
    page.wait_for_function("views.get('chart-tenth').spec.height === 24 * 22")
    assert said == []
    page.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_a_place_of_the_feature_space_decodes_under_the_mouse(browser, pages, width):
    page, said = opened(browser, pages["mgpc"], width)
    for part in ("whole", "near"):
        for layer in ("mean", "deviation", "acquisition"):
            page.locator("#part").select_option(part)
            page.locator("#layer").select_option(layer)
            page.wait_for_timeout(300)
    # The cell in the middle decodes to what the page has been told of it.
    middle = 25 * 12 + 12
    x, y = place_of(page, "chart-features", "cells_marks", f"datum => datum.cell === {middle}")
    page.mouse.move(x + 3, y + 3)
    page.wait_for_selector("#decoded table")
    rows = [row.split("\t") for row in page.locator("#decoded tbody tr").all_inner_texts()]
    assert len(rows) == 4 + 24
    assert rows[0][0] == "prediction"
    decoded = page.evaluate(f"DATA.features.near.decoded[{middle}]")
    assert [float(row[1]) for row in rows[4:]] == pytest.approx(decoded, rel=1e-3)
    page.locator("#show-discs").uncheck()
    page.wait_for_function("views.get('chart-features').view.signal('balls') === false")
    assert said == []
    page.close()


@pytest.mark.parametrize("name", ["evil", "evil two"])
def test_text_of_strangers_stays_text(browser, pages, name):
    page, said = opened(browser, pages[name], 1280)
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.locator("#table-failures button").first.click()
    assert EVIL.split("&")[0].strip() in page.locator("#chosen").inner_text()
    page.mouse.move(*place_of(page, "chart-tenth", "points_marks"))
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert page.locator("main img, main script, #vg-tooltip-element img").count() == 0
    assert said == []
    page.close()


def test_a_watched_page_loads_itself_again_when_the_run_grows(browser, tmp_path):
    path = tmp_path / "run.json"
    optimizer = told(5, method="random")
    optimizer.save(path)
    with served(path) as url:
        page = browser.new_page()
        page.goto(url)
        page.wait_for_selector("#summary dd:text-is('5')")
        optimizer.tell([0.5] * 5, 1.0)
        optimizer.save(path)
        page.wait_for_selector("#summary dd:text-is('6')")
        page.close()


@pytest.mark.parametrize("name", [name for name in methods.NAMES if "mgp" in name])
def test_all_methods_with_features_have_a_map(name):
    method = methods.by_name(name, **CHEAP, **TRAINING)
    optimizer = told(14, space=[(0.0, 1.0)] * 7, method=method)
    assert page_data(subject_of(optimizer))["features"]["near"]["decoded"]
