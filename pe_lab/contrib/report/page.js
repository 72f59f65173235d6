// The behavior of the page. Names come from configs, so they are written as text and never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const files = JSON.parse(document.getElementById("files").textContent);
const $ = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const DASH = "–";
const number = (v) => (v === null || v === undefined ? DASH : v >= 0.995 && v < 1 ? Math.min(v, 0.999).toFixed(3) : Math.abs(v) < 1000 ? v.toFixed(2) : v.toPrecision(4));

const intervalOf = (cell) => (cell.i ? `${cell.i.map(number).join(" to ")} (${cell.w})` : "none, too few seeds");

// Controls
function options(id, entries) {
  $(id).append(...entries.map(([value, text]) => make("option", { value }, text)));
  $(id).parentElement.hidden = entries.length < 2;
}
options("metric", data.metrics.map((m, i) => [i, m.label]));
const texts = new Set(data.variants.filter((v) => v.is_text).map((v) => v.task));
const scoreOf = (task) => (data.has_text && !data.is_text ? ` (${texts.has(task) ? "bits" : "accuracy"})` : "");
options("task", data.tasks.map((t, i) => [i, (t || "all") + scoreOf(t)]));
options("offset", data.offsets.map((o, i) => [i, String(o)]));

// The tables have the labels of configs (t5_bias), the chart has words (T5 bias). Both match both.
const plain = (text) => text.toLowerCase().replaceAll("_", " ");
const words = () => plain($("filter").value).split(/\s+/).filter(Boolean);
const matches = (text) => words().every((word) => plain(text).includes(word));
const hidden = new Set(); // variants whose box is not ticked

function selection() {
  const metric = data.metrics[$("metric").value], task = data.tasks[$("task").value], offset = Number($("offset").value);
  const variants = data.variants.filter((v) => v.task === task && matches(v.name));
  return { metric, offset, variants };
}

// The chart
function points({ metric, offset, variants }) {
  const centers = [], seeds = [];
  for (const v of variants.filter((w) => !hidden.has(w.name))) {
    const cells = v.values[metric.name][offset];
    data.lengths.forEach((length, i) => {
      const cell = cells[i];
      if (cell.c === undefined) return;
      const values = cell.s.filter((s) => s !== null);
      centers.push({
        variant: v.name, length, value: cell.c, low: cell.i ? cell.i[0] : null, high: cell.i ? cell.i[1] : null, solved: !v.unsolved,
        Variant: v.name, Length: `${length} ${data.length}${length > v.trained ? ", beyond training" : ""}`, Value: `${number(cell.c)}, ${cell.k}`,
        Interval: intervalOf(cell), Seeds: `${values.length}: ${cell.s.map(number).join("  ")}`, Solved: v.is_text ? DASH : `${v.solved[0]} of ${v.solved[1]}`,
      });
      cell.s.forEach((value, seed) => value !== null && seeds.push({ variant: v.name, length, value, seed }));
    });
  }
  const levels = metric.name === "exact_match" && variants.length ? data.chance[variants[0].task] : [];
  const chance = data.lengths.map((length, i) => ({ length, value: levels[i], what: "chance level" })).filter((p) => p.value !== null && p.value !== undefined);
  return { centers, seeds, chance };
}

function specification({ centers, seeds, chance }, { metric, variants }) {
  const shown = variants.filter((v) => !hidden.has(v.name)), names = shown.map((v) => v.name);
  // A variant without the focus of the mouse or the keyboard is faded.
  const banded = centers.filter((p) => p.low !== null);
  const scale = (key) => ({ scale: { domain: names, range: shown.map((v) => v[key]) }, legend: null });
  const y = { type: "quantitative", title: metric.label, scale: metric.share ? { domain: [Math.min(0, ...seeds.map((s) => s.value)), 1] } : { zero: false } };
  const x = { field: "length", type: "quantitative", title: `length (${data.length})`, axis: { values: data.lengths, format: "d", labelOverlap: "greedy", grid: false },
    scale: $("log").checked ? { type: "log", nice: false } : { zero: false, nice: false, padding: 12 } };
  const color = { field: "variant", type: "nominal", ...scale("color") };
  const faded = (value, low) => ({ condition: { test: "hot === null || datum.variant === hot", value }, value: low });
  const layer = [
    { data: { values: [...new Set(shown.map((v) => v.trained))].map((length) => ({ length })) }, mark: { type: "rule", strokeDash: [2, 3], color: "#888" },
      encoding: { x: { field: "length", type: "quantitative" }, tooltip: { value: "training length" } } },
    ...(chance.length ? [{ data: { values: chance }, mark: { type: "line", strokeDash: [6, 4], strokeWidth: 1.2, color: "#888" },
      encoding: { x, y: { field: "value", ...y }, tooltip: [{ field: "what" }, { field: "value" }] } },
    { data: { values: chance.slice(-1) }, mark: { type: "text", align: "right", dy: -7, fontSize: 12 }, encoding: { x, y: { field: "value", ...y }, text: { field: "what" } } }] : []),
    ...(banded.length ? [{ data: { values: banded }, mark: { type: "area" },
      encoding: { x, y: { field: "low", ...y }, y2: { field: "high" }, color, opacity: faded(0.16, 0.03) } }] : []),
    ...($("seeds").checked ? [{ data: { values: seeds }, mark: { type: "line", strokeWidth: 0.8 },
      encoding: { x, y: { field: "value", ...y }, color, detail: { field: "seed" }, opacity: faded(0.55, 0.06) } }] : []),
    { data: { values: centers }, mark: { type: "line", strokeWidth: 2.4 },
      encoding: { x, y: { field: "value", ...y }, color, strokeDash: { field: "variant", type: "nominal", ...scale("dash") }, opacity: faded(1, 0.12) } },
    { data: { values: centers }, mark: { type: "point", filled: true, size: 75, strokeWidth: 1.6 },
      encoding: { x, y: { field: "value", ...y }, stroke: color, fill: { condition: { test: "datum.solved", ...color }, value: "transparent" },
        shape: { field: "variant", type: "nominal", ...scale("shape") }, opacity: faded(1, 0.12),
        tooltip: ["Variant", "Length", "Value", "Interval", "Seeds", ...(data.is_text ? [] : ["Solved"])].map((field) => ({ field, type: "nominal" })) } },
  ];
  return { width: "container", height: 380, autosize: { type: "fit", contains: "padding" }, background: null, params: [{ name: "hot", value: null }],
    layer, config: { view: { stroke: null }, axis: { labelFontSize: 12, titleFontSize: 13 } } };
}

const embedding = { renderer: "svg", ast: true, tooltip: { theme: "custom" }, actions: { export: true, source: false, compiled: false, editor: false } };
let view = null, latestDraw = 0;
async function draw() {
  const selected = selection(), thisDraw = ++latestDraw;
  if (!selected.variants.some((v) => !hidden.has(v.name))) return $("chart").replaceChildren("No variant is selected.");
  const chart = await vegaEmbed("#chart", specification(points(selected), selected), embedding);
  // A later change of the controls has started another chart.
  if (thisDraw !== latestDraw) return chart.finalize();
  view = chart.view;
  view.addEventListener("mouseover", (_, item) => highlight(item && item.datum ? item.datum.variant : null, false));
}

function highlight(name, inChart = true) { // one variant, in the table and in the chart
  for (const row of $("numbers").tBodies[0].rows) row.classList.toggle("hot", row.dataset.variant === name);
  if (inChart && view) view.signal("hot", name ?? null).runAsync();
}

// Table of numbers
const SVG = "http://www.w3.org/2000/svg";
const SIZES = { circle: "M5,0A5,5 0 1 1 -5,0A5,5 0 1 1 5,0Z", square: "M-4.5,-4.5H4.5V4.5H-4.5Z", "triangle-up": "M0,-5L5,4.5H-5Z", "triangle-down": "M0,5L5,-4.5H-5Z",
  "triangle-left": "M-5,0L4.5,5V-5Z", "triangle-right": "M5,0L-4.5,5V-5Z", diamond: "M0,-5.5L5,0L0,5.5L-5,0Z", cross: "M-5,-2H-2V-5H2V-2H5V2H2V5H-2V2H-5Z" };
function swatch(v) { // the line of a variant as in the chart
  const svg = document.createElementNS(SVG, "svg"), line = document.createElementNS(SVG, "line"), mark = document.createElementNS(SVG, "path");
  const set = (element, values) => Object.entries(values).forEach(([name, value]) => element.setAttribute(name, value));
  set(svg, { class: "swatch", width: 34, height: 14, viewBox: "-17 -7 34 14", "aria-hidden": "true" });
  set(line, { x1: -17, x2: 17, stroke: v.color, "stroke-width": 2.4, "stroke-dasharray": v.dash.map((d) => d * 2).join(" ") });
  const path = SIZES[v.shape];
  set(mark, { d: path ?? v.shape, fill: v.unsolved ? "var(--paper)" : v.color, stroke: v.color, "stroke-width": path ? 1.4 : 0.3, ...(path ? {} : { transform: "scale(5)" }) });
  svg.append(line, mark);
  return svg;
}

function cellOf(cell, beyond) {
  const interval = cell.i ? ` [${cell.i.map(number).join(", ")}]` : "";
  const title = cell.c === undefined ? cell.w : `${cell.k} of ${cell.s.filter((s) => s !== null).length} seeds: ${cell.s.map(number).join(", ")}; interval: ${intervalOf(cell)}`;
  return make("td", { title, "data-value": cell.c ?? "", ...(beyond ? { class: "beyond" } : {}) }, cell.c === undefined ? DASH : number(cell.c) + interval);
}

function numbers() {
  const { metric, offset, variants } = selection();
  header($("numbers"), ["variant", "seeds", ...(data.is_text ? [] : ["solved", "extrapolates"]), ...data.lengths.map((n) => (data.variants.every((v) => n > v.trained) ? `→${n}` : String(n)))]);
  $("numbers").tBodies[0].replaceChildren(...variants.map((v) => {
    const box = make("input", { type: "checkbox", "aria-label": `show ${v.name}` });
    box.checked = !hidden.has(v.name);
    box.addEventListener("change", () => { box.checked ? hidden.delete(v.name) : hidden.add(v.name); draw(); });
    const bad = ["diverged", "failed"].map((what, i) => (v.bad[i] ? `, ${v.bad[i]} ${what}` : "")).join("");
    const row = make("tr", { "data-variant": v.name, ...(v.unsolved ? { class: "unsolved" } : {}) },
      make("th", { scope: "row", ...(v.apart.length ? { title: v.apart.join("; ") } : {}) }, box, " ", swatch(v), v.name),
      make("td", { "data-value": v.solved[1] }, `${v.solved[1]}${data.is_text ? bad : ""}`),
      ...(data.is_text ? [] : [
        make("td", { "data-value": v.is_text ? "" : v.solved[0] }, `${v.is_text ? DASH : `${v.solved[0]}/${v.solved[1]}`}${v.unsolved ? " not solved" : ""}${bad}`),
        make("td", { "data-value": v.extrapolates[1] ? v.extrapolates[0] : "" }, v.extrapolates[1] ? `${v.extrapolates[0]}/${v.extrapolates[1]}` : DASH)]),
      ...v.values[metric.name][offset].map((cell, i) => cellOf(cell, data.lengths[i] > v.trained)));
    row.addEventListener("mouseenter", () => highlight(v.name));
    row.addEventListener("mouseleave", () => highlight(null));
    row.addEventListener("focusin", () => highlight(v.name));
    row.addEventListener("focusout", () => highlight(null));
    return row;
  }));
  resort($("numbers"));
  $("shown").textContent = `${variants.length} of ${data.variants.length} variants. The numbers are ${metric.label}, center over seeds.${variants.some((v) => v.is_text) ? " The task is a text: its score is bits, and less is better." : ""}`;
}

// Tables that sort and filter
function header(table, texts) {
  const old = [...table.tHead.querySelectorAll("th")], row = make("tr");
  row.append(...texts.map((text, i) => {
    const cell = make("th", { scope: "col" }, make("button", { type: "button" }, text));
    if (old[i] && old[i].hasAttribute("aria-sort")) cell.setAttribute("aria-sort", old[i].getAttribute("aria-sort"));
    cell.firstChild.addEventListener("click", () => sort(table, cell));
    return cell;
  }));
  table.tHead.replaceChildren(row);
}

function keyOf(cell) {
  if (cell.dataset.value) { const value = Number(cell.dataset.value); if (!Number.isNaN(value)) return value; }
  return cell.textContent.trim() === DASH ? null : cell.textContent.trim();
}

function sort(table, cell) { // descending first; cells without a number come last
  const next = { null: cell.cellIndex ? "descending" : "ascending", descending: "ascending", ascending: "descending" }[cell.getAttribute("aria-sort")];
  for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
  cell.setAttribute("aria-sort", next);
  resort(table);
}

function resort(table) {
  const cell = table.tHead.querySelector("[aria-sort]");
  if (!cell) return;
  const sign = cell.getAttribute("aria-sort") === "ascending" ? 1 : -1;
  const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row.cells[cell.cellIndex]), row]);
  rows.sort(([a], [b]) => a === null ? (b === null ? 0 : 1) : b === null ? -1
    : sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true })));
  table.tBodies[0].append(...rows.map(([, row]) => row));
}

function filterRows() {
  for (const row of document.querySelectorAll("#tables tbody tr, #run-table tbody tr")) row.hidden = !matches(row.cells[0].textContent);
}

for (const table of document.querySelectorAll("#tables table")) header(table, [...table.tHead.rows[0].cells].map((c) => c.textContent));

// Runs
header($("run-table"), ["variant", "seed", "status", ...(data.is_text ? [] : ["solved"]), "steps", "run"]);
$("run-table").tBodies[0].append(...data.runs.map((run) => {
  const button = make("button", { type: "button", class: "show" }, run.id);
  button.addEventListener("click", () => showRun(run));
  const cost = run.cost ?? {};
  return make("tr", {}, make("th", { scope: "row" }, run.name), make("td", { "data-value": run.seed }, String(run.seed)),
    make("td", run.status === "finished" ? {} : { class: "bad" }, run.status),
    ...(data.is_text ? [] : [make("td", {}, run.solved === null ? DASH : run.solved ? "yes" : "no")]),
    make("td", { "data-value": cost.steps ?? "" }, String(cost.steps ?? DASH)), make("td", {}, button));
}));

function showRun(run) {
  const v = data.variants[run.v], pretty = (value) => JSON.stringify(value, null, 1);
  $("run-title").textContent = `${run.name}, seed ${run.seed}`;
  const facts = { run: run.id, status: run.error ? `${run.status}: ${run.error}` : run.status, ...run.member, ...run.exposure, ...run.cost };
  $("run-facts").replaceChildren(...Object.entries(facts).flatMap(([k, value]) => [make("dt", {}, k),
    make("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value))]));
  $("run-config").textContent = pretty(run.config);
  $("run-origin").textContent = pretty({started: run.started, ...data.origins[run.origin]});
  $("run").showModal();
  const rows = run.curve.points.flatMap(([step, loss, ...exact]) => [
    ...(loss ? [{ step, value: loss, what: "training loss", panel: "loss" }] : []),
    ...exact.map((value, i) => ({ step, value, what: `length ${run.curve.lengths[i]}${run.curve.lengths[i] > v.trained ? ", beyond training" : ""}`, panel: run.curve.name }))]);
  if (!rows.length) return $("run-chart").replaceChildren("No curve was recorded.");
  const encoding = (type) => ({ x: { field: "step", type: "quantitative" }, y: { field: "value", type: "quantitative", title: null, scale: { type } },
    strokeDash: { field: "what", type: "nominal", title: null, legend: type === "log" ? null : { orient: "top" },
      scale: { domain: [...new Set(rows.filter((row) => row.panel === (type === "log" ? "loss" : run.curve.name)).map((row) => row.what))],
        range: [[1, 0], [5, 2], [1.5, 2], [7, 2, 1, 2]] } },
    tooltip: ["what", "step", "value"].map((field) => ({ field })) });
  const panel = (name, type) => ({ title: name, transform: [{ filter: `datum.panel === '${name}'` }], width: 250, height: 150,
    mark: { type: "line", point: { color: v.color }, color: v.color }, encoding: encoding(type) });
  return vegaEmbed("#run-chart", { data: { values: rows }, [innerWidth < 760 ? "vconcat" : "hconcat"]: [...(run.curve.lengths.length ? [panel(run.curve.name, "linear")] : []), panel("loss", "log")], resolve: { scale: { strokeDash: "independent" } },
    background: null, config: { view: { stroke: null }, title: { color: null } } }, { ...embedding, actions: false });
}

// The rest
$("common").textContent = JSON.stringify(data.common, null, 1);
for (const button of document.querySelectorAll("[data-file]")) button.addEventListener("click", async () => {
  const packed = Uint8Array.from(atob(files[button.dataset.file]), (c) => c.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const url = URL.createObjectURL(new Blob([await new Response(text).blob()], { type: "text/plain" }));
  make("a", { href: url, download: button.dataset.file }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
});
$("theme").addEventListener("click", () => {
  const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)").matches ? root.dataset.theme !== "light" : root.dataset.theme === "dark";
  root.dataset.theme = dark ? "light" : "dark";
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
$("controls").addEventListener("submit", (event) => event.preventDefault());
$("controls").addEventListener("input", () => { numbers(); filterRows(); draw(); });
numbers();
draw();
