"use strict";
// Several objectives and constraints: their figures, as those of charts.js, and their sections.

// Ends of an axis that show the front, and more of what is worse than of what would be better.
function aroundFront(data, j) {
  const values = data.front.evaluations.map(i => data.values[i][j]);
  const low = Math.min(...values), high = Math.max(...values), reach = high - low;
  const [below, above] = data.directions[j] === "minimize" ? [.1, .6] : [.6, .1];
  return reach > 0 ? {domain: [low - below * reach, high + above * reach], nice: false} : {};
}

function frontChart(data, a, b, near) {
  const phone = window.innerWidth < 720, {kinds} = data.front;
  const rows = data.values.map((values, i) => ({i, n: i + 1, kind: kinds[i],
    by: data.proposed_by[i], ...objectiveFields(data, i)}));
  const of = kind => ({values: rows.filter(row => row.kind === kind)});
  const axis = j => number(`v${j}`, `${objectiveName(data, j)} (${data.directions[j]})`,
    {scale: {zero: false, ...(near ? aroundFront(data, j) : {})}, axis: {tickCount: 6}});
  const x = axis(a), y = axis(b);
  const tooltip = [tip("n", "evaluation"), ...objectiveTips(data), tip("kind", "kind"),
    tip("by", "proposed by")];
  const color = {field: "kind", type: "nominal", legend: {title: null},
    scale: {domain: ["front", "dominated"], range: [ACCENT, SOFT]}};
  const bound = data.directions.length === 2 ? of("front") : {values: []};
  return chart(phone ? 320 : 420, [
    // The corners of the line are the worst of two neighbours in both objectives.
    {data: bound, mark: {type: "line", color: ACCENT, strokeWidth: 1.3, clip: true,
      interpolate: data.directions[a] === "minimize" ? "step-after" : "step-before"},
      encoding: {x, y, order: {field: `v${a}`}}},
    {data: of("infeasible"), mark: HOLLOW, name: "infeasible",
      encoding: {x, y, ...hollow(tooltip, {value: SOFT})}},
    {data: of("dominated"), mark: {type: "circle", opacity: .6, clip: true}, name: "dominated",
      encoding: {x, y, color, ...pickable(tooltip, 30)}},
    {data: of("front"), mark: {type: "circle", opacity: 1, clip: true}, name: "points",
      encoding: {x, y, color, ...pickable(tooltip, 75)}}]);
}

function volumeChart(data) {
  const {share, grew} = data.front.volume;
  const rows = share.map((value, i) => ({i, n: i + 1, share: value, grew: grew[i]}))
    .filter(row => row.share !== null);
  const x = step(share.length), y = number("share", "share dominated",
    {scale: {zero: false}, axis: {format: ".3~p", tickCount: 6}});
  return chart(260, [
    {data: {values: rows}, mark: {type: "line", interpolate: "step-after", color: INK,
      strokeWidth: 2}, encoding: {x, y}},
    {data: {values: rows.filter(row => row.grew)}, mark: {type: "circle", color: ACCENT},
      name: "points", encoding: {x, y, ...pickable([tip("n", "evaluation"),
        {...tip("share", "share dominated"), format: ".4~p"}], 30)}}]);
}

function constraintChart(data, k, near) {
  const rows = data.constraints.values.map((values, i) => ({i, n: i + 1, value: values[k],
    kind: values[k] > 0 ? "violated" : "satisfied"})).filter(row => row.value !== null);
  const sizes = rows.map(row => Math.abs(row.value)).sort((p, q) => p - q);
  const reach = sizes[Math.floor(.9 * sizes.length)] || 1;  // a few are often far away
  const ends = [Math.max(-reach, Math.min(0, ...rows.map(row => row.value))),
    Math.min(reach, Math.max(0, ...rows.map(row => row.value)))].map(end => 1.05 * end);
  const x = step(data.points.length), y = number("value", null, {axis: {tickCount: 5},
    scale: near ? {domain: ends, nice: false} : {}});
  return chart(190, [
    {data: {values: [{value: 0}]}, mark: {type: "rule", color: INK, strokeDash: [5, 4]},
      encoding: {y}},
    {data: {values: rows}, mark: {type: "circle", opacity: .8, clip: true}, name: "points",
      encoding: {x, y, color: {field: "kind", type: "nominal", legend: null,
        scale: {domain: ["satisfied", "violated"], range: [ACCENT, "#e08e2b"]}},
      ...pickable([tip("n", "evaluation"), tip("value", "value"), tip("kind", "state")])}}]);
}

// A choice among all objectives, for figures that show one at a time.
function objectiveChoice(label, at = 0) {
  const made = node("label", label), choice = node("select");
  DATA.directions.forEach((direction, j) =>
    choice.append(new Option(`objective ${j} (${direction})`, j, j === at, j === at)));
  made.append(" ", choice);
  return [made, choice];
}

function showFront() {
  const f = DATA.front;
  if (!f) return;
  show("front");
  at("note-front").textContent = f.note;
  const [across, a] = objectiveChoice("Across", 0), [up, b] = objectiveChoice("Up", 1);
  const choices = [a, b], pair = [0, 1], zoom = at("zoom-front");
  const again = () => draw("chart-front", frontChart(DATA, ...pair, zoom.value === "near"));
  zoom.addEventListener("change", again);
  if (f.kinds.filter(kind => kind === "front").length < 2) {
    zoom.value = "all";
    zoom.parentElement.hidden = true;
  }
  choices.forEach((choice, k) => choice.addEventListener("change", () => {
    const now = Number(choice.value);
    if (pair[1 - k] === now) pair[1 - k] = pair[k];  // the axes change places
    pair[k] = now;
    choices.forEach((each, l) => each.value = pair[l]);
    again();
  }));
  if (DATA.directions.length > 2) at("tools-front").append(across, up);
  if (f.kinds.some(kind => kind !== "failed")) place("chart-front", 470, again);
  else at("chart-front").textContent = "No evaluation returned values.";
}

function showVolume() {
  if (!DATA.front) return;
  show("volume");
  at("note-volume").textContent = DATA.front.volume_note;
  if (DATA.front.volume)
    place("chart-volume", 300, () => draw("chart-volume", volumeChart(DATA)));
}

function showFrontTable() {
  const f = DATA.front;
  if (!f || !f.evaluations.length) return;
  show("front-points");
  const objectives = DATA.directions.map((_, j) => `objective ${j}`);
  const limits = DATA.constraints ? DATA.constraints.names : [];
  const head = ["evaluation", ...objectives, ...limits, ...DATA.parameters.map(p => p.name)];
  const fill = count => at("table-front").replaceChildren(table(head,
    f.evaluations.slice(0, count).map(i => [link(i), ...DATA.values[i],
      ...(DATA.constraints ? DATA.constraints.values[i] : []), ...DATA.points[i]])));
  fill(ROWS);
  if (f.evaluations.length > ROWS) {
    const button = node("button", `Show all ${f.evaluations.length} points`);
    button.addEventListener("click", () => {
      button.remove();
      fill(f.evaluations.length);
    });
    at("tools-front-points").append(button);
  }
}

function showConstraints() {
  const c = DATA.constraints;
  if (!c) return;
  show("constraints");
  const [best] = c.best, one = c.best.length === 1;
  const head = ["", "violated", "not known", ...(one ? ["value at the best"] : []),
    one ? "at the best" : "on the front"];
  const n = c.values.length;
  at("table-constraints").append(table(head, c.names.map((name, k) => [name,
    c.known[k] ? `${c.violated[k]} of ${c.known[k]} (${percent(c.violated[k] / c.known[k])})` : "",
    n - c.known[k], ...(one ? [c.values[best][k]] : []), c.states[k]])));
  const zoom = at("zoom-constraints");
  const again = panes("panes-constraints", "constraint", () => c.names, (k, id) =>
    draw(id, constraintChart(DATA, k, zoom.value === "near")), 220);
  zoom.addEventListener("change", () => again());
}
