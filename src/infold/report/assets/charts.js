"use strict";
// Figures as Vega-Lite specifications. Text of users is data or a member of a scale's domain, never
// part of an expression: every field has a name that is written here, and orders are by numbers.
const INK = "#1c2733", ACCENT = "#1f6fb2", WARM = "#d1495b", SOFT = "#8894a0";
const PALETTE = [ACCENT, "#e08e2b", "#3a9d6e", "#8e5ea2", "#4bb3c7", "#7a5c3e", "#c06c9b"];
const CONFIG = {
  font: "system-ui, sans-serif",
  view: {stroke: null},
  numberFormat: ".6~g",
  axis: {labelColor: "#4a5763", titleColor: "#4a5763", gridColor: "#edf0f3", domainColor: "#c4ccd4",
    tickColor: "#c4ccd4", titleFontWeight: 500, labelLimit: 130},
  legend: {orient: "bottom", titleColor: "#4a5763", labelColor: "#4a5763", labelLimit: 160,
    titleLimit: 240, symbolLimit: 12, titleFontWeight: 500},
};
const CHOSEN = "datum.i === chosen";  // whether the mouse has chosen this evaluation

// What one objective is called, and the objectives of an evaluation as fields of a row.
function objectiveName(data, j) {
  return data.directions.length > 1 ? `objective ${j}` : "value";
}
const objectiveFields = (data, i) => Object.fromEntries(data.values[i].map((v, j) => [`v${j}`, v]));
const objectiveTips = data => data.directions.map((_, j) => tip(`v${j}`, objectiveName(data, j)));

function chart(height, layers, more = {}) {
  return {width: "container", height, autosize: {type: "fit-x", contains: "padding"},
    config: CONFIG, params: [{name: "chosen", value: -1}, ...(more.params || [])],
    layer: layers.filter(layer => layer.data.values.length),
    ...(more.resolve ? {resolve: more.resolve} : {})};
}

const number = (field, title, more = {}) => ({field, type: "quantitative", title, ...more});
const step = n => number("n", "evaluation", {scale: {nice: false, zero: false, domain: [0, n + 1]},
  axis: {tickMinStep: 1, format: "d", tickCount: window.innerWidth < 720 ? 5 : 10}});
const tip = (field, title) => ({field, title});
const halo = {condition: {test: CHOSEN, value: WARM}, value: null};

function pickable(tooltip, size = 45) {
  return {tooltip,
    size: {condition: {test: CHOSEN, value: 180}, value: size},
    stroke: halo, strokeWidth: {condition: {test: CHOSEN, value: 2.5}, value: 0}};
}

// An evaluation that violates a constraint is an open circle.
const HOLLOW = {type: "point", shape: "circle", fill: "transparent", opacity: .7, clip: true};

function hollow(tooltip, color) {
  const {size, strokeWidth} = pickable(tooltip);
  return {tooltip, size, strokeWidth: {...strokeWidth, value: 1.3},
    color: {condition: {test: CHOSEN, value: WARM}, ...color}};
}

// The initial design is grey; whoever proposed most has the first colour.
function proposerScale(data) {
  const others = data.proposers.names.filter(name => name !== "design");
  const shades = others.map((_, k) => PALETTE[k % PALETTE.length]);
  return {domain: ["design", ...others], range: [SOFT, ...shades]};
}

function convergenceChart(data, limits) {
  const c = data.convergence, random = c.at_random, phone = window.innerWidth < 720;
  const rows = data.values.map(([value], i) => ({i, n: i + 1, value, best: c.best[i],
    by: data.proposed_by[i], error: data.errors[i], feasible: data.feasible[i] ? "yes" : "no"}));
  const scale = {zero: false, ...(limits ? {domain: limits, nice: false} : {})};
  const x = step(rows.length);
  const y = field => number(field, "value", {scale});
  const layers = [];
  if (random) {
    const band = random.median.map((median, i) => ({n: i + 1, median, low: random.low[i],
      high: random.high[i]})).filter(row => row.median !== null);
    layers.push({data: {values: band}, mark: {type: "area", color: SOFT, opacity: .22, clip: true,
      interpolate: "step-after"},
      encoding: {x, y: y("low"), y2: {field: "high"}}},
    {data: {values: band}, mark: {type: "line", color: SOFT, strokeDash: [5, 4], clip: true,
      interpolate: "step-after"},
      encoding: {x, y: y("median")}});
  }
  const tooltip = [tip("n", "evaluation"), tip("value", "value"), tip("best", "best so far"),
    tip("by", "proposed by"), tip("error", "error"),
    ...(data.constraints ? [tip("feasible", "feasible")] : [])];
  const color = {field: "by", type: "nominal", scale: proposerScale(data),
    legend: {title: "proposed by", columns: phone ? 2 : 5}};
  layers.push(
    {data: {values: rows.filter(row => row.best !== null)},
      mark: {type: "line", interpolate: "step-after", color: INK, strokeWidth: 2, clip: true},
      encoding: {x, y: y("best")}},
    {data: {values: rows.filter((row, i) => row.value !== null && !data.feasible[i])},
      mark: HOLLOW, name: "infeasible",
      encoding: {x, y: y("value"), ...hollow(tooltip, color)}},
    {data: {values: rows.filter((_, i) => data.feasible[i])},
      mark: {type: "circle", opacity: .8, clip: true}, name: "points",
      encoding: {x, y: y("value"), ...pickable(tooltip), color}},
    {data: {values: rows.filter(row => row.value === null)},
      mark: {type: "point", shape: "cross", angle: 45, color: WARM, filled: true, size: 60},
      encoding: {x, y: {value: 6}, tooltip}});
  return chart(phone ? 300 : 380, layers);
}

function tenthChart(data, count, objective) {
  const t = data.best_tenth, names = t.names.slice(0, count);
  const ranks = t.evaluations.map((_, k) => t.evaluations.length - 1 - k);  // the best on top
  const rows = ranks.map(k => [t.evaluations[k], k]).flatMap(([i, k]) => names.map((name, p) =>
    ({i, p, name, n: i + 1, at: t.positions[k][p], ...objectiveFields(data, i),
      setting: t.settings[p][k]})));
  const y = {field: "name", type: "nominal", sort: {field: "p", op: "min"}, title: null,
    axis: {grid: true, domain: false, ticks: false, offset: 8, labelLimit: window.innerWidth < 720 ? 80 : 160}};
  const x = number("at", "place in the parameter's range, low to high",
    {scale: {domain: [0, 1]}, axis: {format: "%", grid: false, tickCount: 5}});
  const color = number(`v${objective}`, objectiveName(data, objective),
    {scale: {scheme: {name: "viridis", extent: [0, .85]},
      reverse: data.directions[objective] === "maximize"},
    legend: {type: "gradient", gradientLength: 180}});
  const lit = "datum.i === chosen || (isValid(over.i) && datum.i === over.i[0])";
  const faded = "isValid(over.i) || chosen >= 0";
  return chart(names.length * 22, [
    {mark: {type: "line", strokeJoin: "round"}, encoding: {x, y, stroke: {...color, legend: null},
      order: {field: "p"},
      detail: {field: "i"},
      opacity: {condition: [{test: lit, value: 1}, {test: faded, value: .12}], value: .5},
      strokeWidth: {condition: {test: lit, value: 3}, value: 1.3}}},
    {mark: {type: "circle"}, name: "points",
      params: [{name: "over", select: {type: "point", fields: ["i"], on: "pointerover",
        clear: "pointerout"}}],
      encoding: {x, y, fill: color, ...pickable([tip("name", "parameter"), tip("setting", "setting"),
        tip("n", "evaluation"), ...objectiveTips(data)], 30),
      opacity: {condition: [{test: lit, value: 1}, {test: faded, value: .15}], value: .8}}},
  ].map(layer => ({data: {values: rows}, ...layer})),
  {resolve: {scale: {stroke: "independent", fill: "independent"}}});
}

function sliceChart(slice) {
  const rows = slice.levels.map((level, k) => ({level, mean: slice.mean[k], low: slice.low[k],
    high: slice.high[k]}));
  const scale = slice.log ? {type: "log", nice: false} : {zero: false, nice: false};
  const x = slice.is_number ? number("level", null, {scale, axis: {tickCount: 5}})
    : {field: "level", type: "nominal", sort: null, title: null, axis: {labelAngle: 0}};
  const y = field => number(field, null, {scale: {zero: false}, axis: {tickCount: 5}});
  const tooltip = [tip("level", "setting"), tip("mean", "prediction"), tip("low", "from"),
    tip("high", "to")].map(each => ({...each, format: each.field === "level" ? undefined : ".5~g"}));
  const band = slice.is_number
    ? [{mark: {type: "area", color: ACCENT, opacity: .18}, encoding: {x, y: y("low"),
      y2: {field: "high"}}},
    {mark: {type: "line", color: ACCENT, strokeWidth: 2}, encoding: {x, y: y("mean")}},
    {mark: {type: "circle", size: 260, opacity: 0}, name: "points",
      encoding: {x, y: y("mean"), tooltip}}]
    : [{mark: {type: "rule", color: ACCENT, opacity: .4, strokeWidth: 6},
      encoding: {x, y: y("low"), y2: {field: "high"}}},
    {mark: {type: "circle", color: ACCENT, size: 90}, name: "points",
      encoding: {x, y: y("mean"), tooltip}}];
  const at = {data: {values: [{level: slice.at, mean: slice.value}]},
    mark: {type: "circle", color: WARM, size: 70, opacity: 1},
    encoding: {x, y: y("mean"), tooltip: [tip("level", "setting"), tip("mean", "observed")]}};
  return chart(170, [...band.map(layer => ({data: {values: rows}, ...layer})), at]);
}

function importanceChart(figure, count) {
  const names = figure.names.slice(0, count);
  const rows = names.map((name, p) => ({name, p, share: figure.shares[p]}));
  return chart(names.length * 20, [{data: {values: rows}, name: "points",
    mark: {type: "bar", color: ACCENT, cornerRadiusEnd: 2},
    encoding: {y: {field: "name", type: "nominal", sort: {field: "p", op: "min"}, title: null,
      axis: {ticks: false, domain: false, labelLimit: window.innerWidth < 720 ? 90 : 180}},
    x: number("share", "share", {axis: {format: "~%", tickCount: 6}}),
    tooltip: [tip("name", "parameter"), {...tip("share", "share"), format: ".2%"}]}}]);
}

function predictionChart(figure, shade) {
  const rows = figure.evaluations.map((i, k) => ({i, n: i + 1, actual: figure.actual[k],
    mean: figure.mean[k], low: figure.mean[k] - 1.96 * figure.deviation[k],
    high: figure.mean[k] + 1.96 * figure.deviation[k], deviation: figure.deviation[k]}));
  const values = [...figure.actual, ...figure.mean];
  const ends = [Math.min(...values), Math.max(...values)];
  const pad = .04 * (ends[1] - ends[0] || 1);
  const scale = {domain: [ends[0] - pad, ends[1] + pad], nice: false, zero: false};
  const x = number("actual", "value that came", {scale, axis: {tickCount: 6}});
  const y = field => number(field, "prediction", {scale, axis: {tickCount: 6}});
  const tooltip = [tip("n", "evaluation"), tip("actual", "came"), tip("mean", "predicted"),
    tip("deviation", "deviation")];
  return chart(300, [
    {data: {values: ends.map(end => ({actual: end, mean: end}))},
      mark: {type: "line", color: SOFT, strokeDash: [5, 4]}, encoding: {x, y: y("mean")}},
    {data: {values: rows}, mark: {type: "rule", color: shade, opacity: .25, clip: true},
      encoding: {x, y: y("low"), y2: {field: "high"}}},
    {data: {values: rows}, mark: {type: "circle", color: shade, opacity: .8, clip: true},
      name: "points", encoding: {x, y: y("mean"), ...pickable(tooltip)}}]);
}

function timesChart(data) {
  const rows = ["evaluation", "suggestion"].flatMap(what => data.times[what].map((seconds, i) =>
    ({i, n: i + 1, what, seconds})).filter(row => row.seconds > 0));
  return chart(240, [{data: {values: rows}, mark: {type: "circle", opacity: .75}, name: "points",
    encoding: {x: step(data.points.length),
      y: number("seconds", "seconds", {scale: {type: "log"}, axis: {format: "~g", tickCount: 5}}),
      color: {field: "what", type: "nominal", scale: {domain: ["evaluation", "suggestion"],
        range: [ACCENT, "#e08e2b"]}, legend: {title: null}},
      ...pickable([tip("n", "evaluation"), tip("what", "seconds of"), {...tip("seconds", "seconds"),
        format: ".3~g"}])}}]);
}

function sideChart(data) {
  const rows = data.region.side.map((side, i) => ({i, n: i + 1, side})).filter(row => row.side);
  const x = step(data.points.length), y = number("side", "side",
    {scale: {type: "log", base: 2}, axis: {format: ".2~g", tickCount: 6}});
  return chart(220, [
    {mark: {type: "line", interpolate: "step-after", color: ACCENT}, encoding: {x, y}},
    {mark: {type: "circle", color: ACCENT}, name: "points",
      encoding: {x, y, ...pickable([tip("n", "evaluation"), tip("side", "side")], 16)}},
  ].map(layer => ({data: {values: rows}, ...layer})));
}

function evidenceChart(data) {
  const r = data.region;
  const rows = r.evidence.flatMap((scores, i) => scores.map((score, k) => ({i, n: i + 1, score,
    expert: r.experts[k], chosen: r.chosen[i][k]}))).filter(row => row.score !== null);
  const x = step(data.points.length), y = number("score", "mean log density",
    {scale: {zero: false}});
  const color = {field: "expert", type: "nominal",
    scale: {domain: r.experts, range: PALETTE}, legend: {title: "expert"}};
  return chart(220, [
    {mark: {type: "line", opacity: .6}, encoding: {x, y, color}},
    {transform: [{filter: "datum.chosen"}], mark: {type: "circle"}, name: "points",
      encoding: {x, y, color, ...pickable([tip("n", "evaluation"), tip("expert", "proposed by"),
        tip("score", "evidence")], 22)}},
  ].map(layer => ({data: {values: rows}, ...layer})));
}

function featureChart(data, part, layer, width) {
  const f = data.features, {a, b} = f[part], da = (a[1] - a[0]) / 2, db = (b[1] - b[0]) / 2;
  const cells = b.flatMap((v, r) => a.map((u, c) => ({cell: r * a.length + c, a0: u - da,
    a1: u + 1.2 * da, b0: v - db, b1: v + 1.2 * db, z: f[part][layer][r][c]}))).filter(row => row.z !== null);
  const sorted = cells.map(row => row.z).sort((p, q) => p - q);
  const largest = sorted[sorted.length - 1];
  // An acquisition function falls for ever where nothing is to be gained.
  const least = layer === "acquisition" ? sorted[Math.floor(.5 * sorted.length)] : sorted[0];
  const spans = [[a[0] - da, a[a.length - 1] + da], [b[0] - db, b[b.length - 1] + db]];
  const [wide, tall] = spans.map(span => span[1] - span[0]);
  const height = Math.max(220, Math.min(640, (width - 60) * tall / wide));
  const scale = k => ({domain: spans[k], nice: false, zero: false});
  const x = field => number(field, "first principal direction", {scale: scale(0),
    axis: {grid: false}});
  const y = field => number(field, "second principal direction", {scale: scale(1),
    axis: {grid: false}});
  const places = f.places.map(([u, v], k) => ({k, i: f.evaluations[k], n: f.evaluations[k] + 1,
    u, v, height: f.heights[k], value: data.values[f.evaluations[k]][0],
    by: data.proposed_by[f.evaluations[k]]}));
  const rims = !f.discs ? [] : f.discs.radii.flatMap((radius, d) =>
    Array.from({length: 33}, (_, t) => ({d, t, u: f.discs.centres[d][0]
      + radius * Math.cos(t * Math.PI / 16), v: f.discs.centres[d][1]
      + radius * Math.sin(t * Math.PI / 16)})));
  const titles = {mean: "predicted value", deviation: "deviation", acquisition: "acquisition"};
  return chart(height, [
    {data: {values: cells}, mark: {type: "rect", clip: true}, name: "cells",
      encoding: {x: x("a0"), x2: {field: "a1"}, y: y("b0"), y2: {field: "b1"},
        color: number("z", titles[layer], {legend: {gradientLength: 180, format: ".4~g"},
          scale: {scheme: "viridis", zero: false, nice: false, clamp: true, domain: [least, largest],
            reverse: layer === "mean" && data.directions[0] === "minimize"}})}},
    {data: {values: rims}, mark: {type: "line", color: "#fff", strokeWidth: 1, clip: true},
      encoding: {x: x("u"), y: y("v"), detail: {field: "d"}, order: {field: "t"},
        opacity: {condition: {test: "balls", value: .5}, value: 0}}},
    {data: {values: places}, mark: {type: "line", color: "#000", strokeWidth: .8, clip: true},
      encoding: {x: x("u"), y: y("v"), order: {field: "k"},
        opacity: {condition: {test: "path", value: .35}, value: 0}}},
    {data: {values: places}, mark: {type: "circle", clip: true, opacity: .95}, name: "points",
      encoding: {x: x("u"), y: y("v"), tooltip: [tip("n", "evaluation"), tip("value", "value"),
        tip("by", "proposed by"), {...tip("height", "distance from the plane"), format: ".3~g"}],
      fill: number("n", "evaluation", {scale: {scheme: "oranges"}, legend: null}),
      stroke: {condition: {test: CHOSEN, value: WARM}, value: INK},
      strokeWidth: {condition: {test: CHOSEN, value: 3}, value: .5},
      size: {condition: {test: CHOSEN, value: 200}, value: 38}}},
  ], {params: [{name: "balls", value: true}, {name: "path", value: true}],
    resolve: {scale: {color: "independent", fill: "independent"}}});
}
