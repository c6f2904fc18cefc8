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
  const told = DATA.values[i].map((value, j) => [objectiveName(DATA, j),
    value === null ? "failed" : value]);
  told.push(["proposed by", DATA.proposed_by[i]]);
  if (DATA.constraints) {
    told.push(["feasible", DATA.feasible[i] ? "yes" : "no"]);
    DATA.constraints.names.forEach((name, k) => told.push([name, DATA.constraints.values[i][k]]));
  }
  if (DATA.errors[i]) told.push(["error", node("td", DATA.errors[i], "text")]);
  if (DATA.times.evaluation[i] !== null) told.push(["took", seconds(DATA.times.evaluation[i])]);
  DATA.parameters.forEach((parameter, p) => told.push([parameter.name, DATA.points[i][p]]));
  at("chosen-table").replaceChildren(table(["", ""], told));
}
