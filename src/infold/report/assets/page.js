"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = 20;  // parameters that a figure shows at first
const views = new Map();  // figures by the id of their place
const waiting = new Map();  // figures still to be drawn, by the id of their place
const near = new Set();  // places that are in the window, or about to be
let chosen = -1;

const at = id => document.getElementById(id);
const percent = share => `${(100 * share).toFixed(share < .1 ? 1 : 0)} %`;

function short(value, digits = 6) {
  if (value === null || value === undefined) return "–";
  return typeof value === "number" ? String(Number(value.toPrecision(digits))) : String(value);
}

function seconds(value) {
  if (value === null) return "–";
  if (value < .1) return `${Number((1000 * value).toPrecision(3))} ms`;
  if (value < 120) return `${Number(value.toPrecision(3))} s`;
  return value < 7200 ? `${(value / 60).toFixed(1)} min` : `${(value / 3600).toFixed(1)} h`;
}

// Everything that users wrote reaches the page as text of a node, never as HTML.
function node(tag, content = "", className = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (content instanceof Node) made.append(content); else made.textContent = content;
  return made;
}

function table(head, rows) {
  const made = document.createElement("table"), top = made.createTHead().insertRow();
  head.forEach(cell => top.append(node("th", cell)));
  const body = made.createTBody();
  rows.forEach(cells => {
    const row = body.insertRow();
    cells.forEach(cell => row.append(cell instanceof HTMLTableCellElement ? cell
      : node("td", cell instanceof Node ? cell : short(cell))));
  });
  return made;
}

function link(i) {
  const made = node("button", `#${i + 1}`, "link");
  made.addEventListener("click", () => choose(i));
  return made;
}

function bar(position) {
  const made = node("span", "", "bar"), mark = node("i");
  mark.style.left = `${100 * position}%`;
  made.append(mark);
  return made;
}

async function draw(id, spec) {
  waiting.delete(id);
  const before = views.get(id);
  if (before) before.finalize();
  const made = await vegaEmbed(at(id), spec, {mode: "vega-lite", ast: true, actions: false,
    renderer: "canvas"});
  made.view.addEventListener("click", (event, item) => {
    const i = item && item.datum ? item.datum.i : undefined;
    if (Number.isInteger(i)) choose(i);
  });
  views.set(id, made);
  if (chosen >= 0) made.view.signal("chosen", chosen).run();
  return made.view;
}

// A figure is drawn when it comes near the window, or when the browser has nothing else to do.
// Until then its place is kept free.
function place(id, height, make) {
  at(id).style.minHeight = `${height}px`;
  waiting.set(id, make);
  nearness.observe(at(id));
}

let wake = () => {};
const nearness = new IntersectionObserver(seen => {
  seen.forEach(each => near[each.isIntersecting ? "add" : "delete"](each.target.id));
  wake();
}, {rootMargin: "300px 0px"});

// Resolves when the browser is idle, or when a figure comes near.
function rest() {
  return new Promise(done => {
    wake = done;
    if (window.requestIdleCallback) requestIdleCallback(done, {timeout: 1000});
    else setTimeout(done, 50);
  });
}

async function drawAll() {
  const wanted = () => [...waiting.keys()].find(id => near.has(id));
  await new Promise(done => wake = done);  // until it is known which places are near
  while (waiting.size) {
    if (!wanted()) {
      document.body.dataset.opened ??= views.size;  // what is in the window is there
      await rest();
    }
    const id = wanted() ?? waiting.keys().next().value;
    if (id === undefined) break;
    nearness.unobserve(at(id));
    await waiting.get(id)();
    at(id).style.minHeight = "";
    await new Promise(done => setTimeout(done));  // what is there can be looked at
  }
}

function choose(i) {
  chosen = i === chosen ? -1 : i;
  views.forEach(made => made.view.signal("chosen", chosen).run());
  at("chosen").hidden = chosen < 0;
  if (chosen < 0) return;
  at("chosen-title").textContent = `Evaluation ${i + 1}`;
  const value = DATA.convergence.value[i];
  const told = [["value", value === null ? "failed" : value],
    ["proposed by", DATA.convergence.proposed_by[i]]];
  if (DATA.errors[i]) told.push(["error", node("td", DATA.errors[i], "text")]);
  if (DATA.times.evaluation[i] !== null) told.push(["took", seconds(DATA.times.evaluation[i])]);
  DATA.parameters.forEach((parameter, p) => told.push([parameter.name, DATA.points[i][p]]));
  at("chosen-table").replaceChildren(table(["", ""], told));
}

function tools() {
  const zoom = at("zoom"), c = DATA.convergence;
  zoom.addEventListener("change", () => draw("chart-convergence",
    convergenceChart(DATA, zoom.value === "half" ? DATA.better_half : null)));
  at("close").addEventListener("click", () => choose(chosen));
  if (c.value.filter(value => value !== null).length < 4) zoom.closest(".tools").hidden = true;
}

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
  document.querySelectorAll(".model-note").forEach(place => place.textContent = DATA.model_note);
}

function showConvergence() {
  if (!DATA.convergence.value.length) return;
  show("convergence");
  at("note-convergence").textContent = DATA.convergence_note;
  place("chart-convergence", 430, () => draw("chart-convergence", convergenceChart(DATA, null)));
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
  const made = table(head, [numbers, values, gaps, ...rows]);
  for (const row of made.rows) if (row.cells[3]) row.cells[3].classList.add("best");
  at("table-best").append(made);
}

function showTenth() {
  const t = DATA.best_tenth;
  if (!t || !t.names.length) return;
  show("tenth");
  const all = t.names.length;
  at("note-tenth").textContent = `The ${t.evaluations.length} best evaluations, each a line; `
    + "point at one to follow it, click to keep it."
    + (DATA.importance ? " The most relevant parameters come first." : "");
  if (all > ROWS) {
    const button = node("button", `Show all ${all} parameters`);
    button.addEventListener("click", () => {
      button.remove();
      draw("chart-tenth", tenthChart(DATA, all));
    });
    at("tools-tenth").append(button);
  }
  place("chart-tenth", 22 * Math.min(all, ROWS) + 90,
    () => draw("chart-tenth", tenthChart(DATA, ROWS)));
}

function showSlices() {
  if (!DATA.slices.length) return;
  show("slices");
  DATA.slices.slice(0, 6).forEach((_, k) => {
    const pane = node("div"), choice = node("select"), chart = node("div", "", "chart");
    choice.setAttribute("aria-label", "parameter of the slice");
    DATA.slices.forEach((slice, s) => choice.append(new Option(slice.name, s, s === k, s === k)));
    chart.id = `chart-slice-${k}`;
    const again = () => draw(chart.id, sliceChart(DATA.slices[choice.value]));
    choice.addEventListener("change", again);
    pane.append(choice, chart);
    at("panes-slices").append(pane);
    place(chart.id, 200, again);
  });
}

function showImportance() {
  if (!DATA.importance) return;
  show("importance");
  const rest = DATA.importance.shares.slice(ROWS);
  const share = rest.reduce((sum, each) => sum + each, 0);
  if (rest.length) at("note-importance").textContent =
    `The other ${rest.length} parameters have ${percent(share)} together.`;
  const shown = Math.min(ROWS, DATA.importance.shares.length);
  place("chart-importance", 20 * shown + 40,
    () => draw("chart-importance", importanceChart(DATA, ROWS)));
}

function showPredictions() {
  const shown = [["left-out", DATA.left_out, ACCENT], ["ahead", DATA.ahead, "#e08e2b"]]
    .filter(each => each[1]);
  if (!shown.length) return;
  show("predictions");
  shown.forEach(([id, figure, shade]) => {
    show(id);
    at(`note-${id}`).textContent = figure.note;
    place(`chart-${id}`, 340, () => draw(`chart-${id}`, predictionChart(figure, shade)));
  });
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
    at("table-proposers").append(table(["proposed by", "points", "improved",
      "failed", "best value"], p.names.map((name, k) => [name, p.counts[k], p.improved[k],
      p.failed[k], p.best[k]])));
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
  showSummary();
  tools();
  [showConvergence, showBest, showTenth, showSlices, showImportance, showPredictions, showFeatures,
    showRegion, showRecord, showTimes].forEach(part => part());
  if (waiting.size) await drawAll();
  document.body.dataset.opened ??= views.size;
  document.body.dataset.drawn = views.size;  // how many figures there are, for who waits for them
  follow();
}

start();
