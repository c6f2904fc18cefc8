"use strict";
// What each section of the page shows.
function show(id) {
  const section = at(id);
  section.hidden = false;
  if (section.tagName !== "SECTION") return;
  const to = node("a", section.querySelector("h2").textContent);
  to.href = `#${id}`;
  at("contents").append(to);
}

function showSummary() {
  at("subtitle").textContent = DATA.subtitle;
  DATA.summary.forEach(([label, text]) => {
    const tile = node("div");
    tile.append(node("dt", label), node("dd", short(text)));
    at("summary").append(tile);
  });
  at("close").addEventListener("click", () => choose(chosen));
}

function showConvergence() {
  const c = DATA.convergence, zoom = at("zoom");
  if (!c) return;
  show("convergence");
  at("note-convergence").textContent = c.note;
  const again = () => draw("chart-convergence",
    convergenceChart(DATA, zoom.value === "half" ? c.better_half : null));
  zoom.addEventListener("change", again);
  if (DATA.values.filter(([value]) => value !== null).length < 4) zoom.closest(".tools").hidden = true;
  place("chart-convergence", 430, again);
}

function showBest() {
  const b = DATA.best_point;
  if (!b) return;
  show("best");
  const head = ["", "range", "", "best", ...b.evaluations.slice(1).map(() => "")];
  const numbers = ["evaluation", "", "", ...b.evaluations.map(link)];
  const values = ["value", "", "", ...b.values];
  const gaps = ["distance", "", "", ...b.distances.map(gap => Number(gap.toPrecision(3)))];
  const rows = b.names.map((name, p) => {
    const parameter = DATA.parameters[p];
    const place = parameter.position === null ? "" : bar(parameter.position);
    return [name, parameter.range, place, ...b.settings[p]];
  });
  const limits = !DATA.constraints ? [] : [
    ["feasible", "", "", ...b.evaluations.map(i => DATA.feasible[i] ? "yes" : "no")],
    ...DATA.constraints.names.map((name, k) =>
      [name, "at most 0", "", ...b.evaluations.map(i => DATA.constraints.values[i][k])])];
  const made = table(head, [numbers, values, gaps, ...limits, ...rows]);
  for (const row of made.rows) if (row.cells[3]) row.cells[3].classList.add("best");
  at("table-best").append(made);
}

function showTenth() {
  const t = DATA.best_tenth, several = DATA.directions.length > 1;
  if (!t || !t.names.length) return;
  if (several) at("tenth").querySelector("h2").textContent = "Settings along the front";
  show("tenth");
  const all = t.names.length, [colour, objective] = objectiveChoice("Colour");
  const which = several ? "points of the front" : "best evaluations";
  at("note-tenth").textContent = `The ${t.evaluations.length} ${which}, each a line; `
    + "point at one to follow it, click to keep it."
    + (DATA.models[0].importance ? " The most relevant parameters come first." : "");
  let count = ROWS;
  const again = () => draw("chart-tenth", tenthChart(DATA, count, Number(objective.value)));
  if (several) at("tools-tenth").append(colour);
  objective.addEventListener("change", again);
  if (all > ROWS) {
    const button = node("button", `Show all ${all} parameters`);
    button.addEventListener("click", () => {
      button.remove();
      count = all;
      again();
    });
    at("tools-tenth").append(button);
  }
  place("chart-tenth", 22 * Math.min(all, ROWS) + 90, again);
}

// Up to six small figures, each of which shows what is chosen above it. Returns a function that
// draws them again, for the same choices or, where names have changed, for the first ones.
function panes(id, what, names, make, height) {
  const made = names().slice(0, 6).map((_, k) => {
    const pane = node("div"), choice = node("select"), chart = node("div", "", "chart");
    choice.setAttribute("aria-label", what);
    chart.id = `chart-${id.slice(id.indexOf("-") + 1)}-${k}`;
    const again = () => make(Number(choice.value), chart.id);
    const fill = () => names().forEach((name, s) =>
      choice.append(new Option(name, s, s === k, s === k)));
    fill();
    choice.addEventListener("change", again);
    pane.append(choice, chart);
    at(id).append(pane);
    place(chart.id, height, again);
    return {again, refill: () => { choice.replaceChildren(); fill(); again(); }};
  });
  return (changed = false) => made.forEach(pane => changed ? pane.refill() : pane.again());
}

// The models that have what a section shows, one chosen at a time where there are several.
function chosenModel(id, has, again) {
  const [label, objective] = objectiveChoice("Model of");
  if (DATA.models.length > 1) at(`tools-${id}`).append(label);
  [...objective.options].forEach((option, j) => option.disabled = !has(DATA.models[j]));
  objective.value = DATA.models.findIndex(has);
  objective.addEventListener("change", () => again(true));
  return () => DATA.models[objective.value];
}

function showSlices() {
  const has = model => model.slices.length > 0;
  if (!DATA.models.some(has)) return;
  show("slices");
  const note = at("slices").querySelector(".model-note");
  const model = chosenModel("slices", has, changed => again(changed));
  const drawn = panes("panes-slices", "parameter of the slice",
    () => model().slices.map(slice => slice.name),
    (s, id) => draw(id, sliceChart(model().slices[s])), 200);
  const again = changed => {
    note.textContent = model().note
      + (DATA.models.length > 1 ? " The best point is that of this objective alone." : "");
    if (changed) drawn(true);
  };
  again(false);
}

function showImportance() {
  const has = model => model.importance !== null;
  if (!DATA.models.some(has)) return;
  show("importance");
  const model = chosenModel("importance", has, () => again());
  const again = () => {
    const {shares} = model().importance, rest = shares.slice(ROWS);
    const share = rest.reduce((sum, each) => sum + each, 0);
    at("note-importance").textContent = rest.length
      ? `The other ${rest.length} parameters have ${percent(share)} together.` : "";
    return draw("chart-importance", importanceChart(model().importance, ROWS));
  };
  place("chart-importance", 20 * Math.min(ROWS, model().importance.shares.length) + 40, again);
}

function showPredictions() {
  const has = model => model.left_out !== null || model.ahead !== null;
  if (!DATA.models.some(has)) return;
  show("predictions");
  const parts = [["left-out", "left_out", ACCENT], ["ahead", "ahead", "#e08e2b"]]
    .filter(([, name]) => DATA.models.some(model => model[name]));
  const model = chosenModel("predictions", has, () => parts.forEach(part => again(part)));
  const again = ([id, name, shade]) => {
    const figure = model()[name];
    at(id).hidden = !figure;
    if (!figure) return;
    at(`note-${id}`).textContent = figure.note;
    return draw(`chart-${id}`, predictionChart(figure, shade));
  };
  parts.forEach(part => {
    show(part[0]);
    place(`chart-${part[0]}`, 340, () => again(part));
  });
  if (DATA.models.length > 1) show("not-ahead");
}

// The cell under the mouse, whatever dot or line is drawn over it; -1 beside the map.
function cellAt(view, event) {
  const {a, b} = DATA.features[at("part").value], origin = view.origin(), pad = view.padding();
  const frame = at("chart-features").querySelector("canvas").getBoundingClientRect();
  const steps = [[a, "x", event.clientX - frame.left - origin[0] - pad.left],
    [b, "y", event.clientY - frame.top - origin[1] - pad.top]].map(([centres, axis, pixel]) =>
    Math.round((view.scale(axis).invert(pixel) - centres[0]) / (centres[1] - centres[0])));
  const inside = steps.every((step, k) => step >= 0 && step < [a, b][k].length);
  return inside ? steps[1] * a.length + steps[0] : -1;
}

function decode(cell) {
  const f = DATA.features[at("part").value], row = Math.floor(cell / f.a.length), column = cell % f.a.length;
  const decoded = cell < 0 ? null : f.decoded[cell];
  if (!decoded) return;
  const told = [["prediction", f.mean[row][column]], ["deviation", f.deviation[row][column]]];
  if (f.acquisition) told.push(["acquisition", f.acquisition[row][column]]);
  told.push(["allowed", f.allowed[row][column] ? "yes" : "no"]);
  const best = DATA.best_point.settings;
  const head = ["here", "decoded", "best"];
  const rows = DATA.features.decoded.map((p, k) => [DATA.parameters[p].name, short(decoded[k], 4),
    short(best[p][0], 4)]);
  const above = told.map(([label, value]) => [label, short(value, 4), ""]);
  at("decoded").replaceChildren(table(head, [...above, ...rows]));
}

function showFeatures() {
  const f = DATA.features;
  if (!f) return;
  show("features");
  const layers = [["mean", "predicted value"], ["deviation", "deviation"]];
  if (f.whole.acquisition) layers.push(["acquisition", `acquisition function (${f.acquisition_name})`]);
  layers.forEach(([value, text]) => at("layer").append(new Option(text, value)));
  at("label-discs").hidden = !f.discs;
  at("note-features").textContent = f.note;
  const again = async () => {
    const map = at("chart-features");
    const view = await draw(map.id, featureChart(DATA, at("part").value, at("layer").value,
      map.clientWidth));
    const look = event => decode(cellAt(view, event));
    view.addEventListener("pointermove", look);
    view.addEventListener("click", look);
    view.signal("path", at("show-path").checked).signal("balls", at("show-discs").checked).run();
  };
  ["part", "layer", "show-path", "show-discs"].forEach(id => at(id).addEventListener("change", again));
  place("chart-features", 400, again);
}

function showRegion() {
  const r = DATA.region;
  if (!r) return;
  show("region");
  if (r.side.some(side => side > 0)) {
    show("side");
    place("chart-side", 260, () => draw("chart-side", sideChart(DATA)));
  }
  if (r.experts.length) {
    show("evidence");
    place("chart-evidence", 300, () => draw("chart-evidence", evidenceChart(DATA)));
  }
}

function showRecord() {
  const p = DATA.proposers, failed = DATA.failures;
  if (p.names.length) {
    show("proposers");
    at("table-proposers").append(table(["proposed by", "points", "improved", "failed",
      p.best ? "best value" : "on the front"], p.names.map((name, k) => [name, p.counts[k],
      p.improved[k], p.failed[k], p.best ? p.best[k] : p.on_front[k]])));
  }
  if (failed.evaluations.length) {
    show("failures");
    at("table-failures").append(table(["evaluation", "proposed by", "message"],
      failed.evaluations.map((i, k) => [link(i), node("td", failed.proposed_by[k]),
        node("td", failed.messages[k] || "no message", "text")])));
  }
}

function showTimes() {
  if (!DATA.times.note) return;
  show("times");
  at("note-times").textContent = DATA.times.note;
  place("chart-times", 300, () => draw("chart-times", timesChart(DATA)));
}

// A page that `infold watch` serves asks whether the run has grown, and then loads itself again.
function follow() {
  const known = document.querySelector("meta[name=follow]").content;
  if (!known) return;
  setInterval(async () => {
    try {
      const now = await (await fetch("version", {cache: "no-store"})).text();
      if (now !== known) location.reload();
    } catch { /* the server has gone: the page stays as it is */ }
  }, 2000);
}

async function start() {
  [showSummary, showConvergence, showFront, showVolume, showFrontTable, showBest, showTenth,
    showConstraints, showSlices, showImportance, showPredictions, showFeatures, showRegion,
    showRecord, showTimes].forEach(part => part());
  if (waiting.size) await drawAll();
  document.body.dataset.opened ??= views.size;
  document.body.dataset.drawn = views.size;  // how many figures there are, for who waits for them
  follow();
}

start();
