// Curves drawn by uPlot over the ones that the server drew: same data, now with axes, a cursor and live points.

const COLOURS = { line: "--accent", grid: "--line", text: "--ink-3" };
const REFRESH_MS = 1000;
const charts = [];
let names = [];
let source = "";
let busy = false;
let again = false;

const style = () => getComputedStyle(document.documentElement);
const colour = (name) => {
  // Canvas knows no light-dark(): let the browser resolve the colour on an element.
  const probe = document.createElement("i");
  probe.style.color = style().getPropertyValue(COLOURS[name]);
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
};

const short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return Number(value.toPrecision(4)).toLocaleString("en");
};

function smooth(values) {
  let mean = null;
  return values.map((value) => {
    if (value === null) return null;
    mean = mean === null ? value : 0.9 * mean + 0.1 * value;
    return mean;
  });
}

function tip(box, texts) {
  const label = document.createElement("div");
  label.className = "chart-tip";
  label.hidden = true;
  box.append(label);
  return {
    hooks: {
      setCursor: [
        (plot) => {
          const index = plot.cursor.idx;
          const value = index === null || index === undefined ? null : plot.data[1][index];
          label.hidden = value === null || value === undefined || plot.cursor.left < 0;
          if (label.hidden) return;
          label.replaceChildren(`${texts.step} ${plot.data[0][index].toLocaleString("en")}  `, strong(short(value)));
          const left = plot.cursor.left + plot.bbox.left / devicePixelRatio;
          const room = box.clientWidth - label.offsetWidth - 8;
          label.style.left = `${Math.min(left + 14, room)}px`;
          label.style.top = "14px";
        },
      ],
    },
  };
}

function strong(text) {
  const element = document.createElement("b");
  element.textContent = text;
  return element;
}

function options(chart) {
  const axis = {
    stroke: colour("text"),
    font: `11px ${style().getPropertyValue("--sans")}`,
    grid: { stroke: colour("grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: chart.box.clientWidth - 16,
    height: chart.box.clientHeight - 16,
    padding: [8, 20, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: false }, y: { distr: chart.logScale ? 3 : 1 } },
    series: [
      {},
      { stroke: colour("line"), width: 1.75, points: { show: false }, spanGaps: true },
      { stroke: colour("line"), width: 1, alpha: 0.25, points: { show: false }, show: chart.isSmooth, spanGaps: true },
    ],
    axes: [
      { ...axis, size: 28, grid: { show: false }, values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? tick.toLocaleString("en") : "")) },
      { ...axis, size: 52, gap: 6, values: (_plot, ticks) => ticks.map((tick) => (tick === null ? "" : short(tick))) },
    ],
    plugins: [tip(chart.box, chart.texts)],
  };
}

function columns(chart) {
  const steps = chart.points.map((point) => point[0]);
  const values = chart.points.map((point) => (chart.logScale && point[1] <= 0 ? null : point[1]));
  return chart.isSmooth ? [steps, smooth(values), values] : [steps, values, values];
}

function draw(chart) {
  if (!chart.points.length) return;
  if (!chart.plot) {
    chart.box.replaceChildren();
    chart.plot = new uPlot(options(chart), columns(chart), chart.box);
  } else chart.plot.setData(columns(chart));
  const last = chart.points.at(-1)[1];
  const shown = chart.box.closest(".card").querySelector(".chart-last");
  if (shown) shown.textContent = short(last);
  chart.box.dataset.points = String(chart.points.length);
  chart.box.dataset.lastStep = String(chart.points.at(-1)[0]);
}

function redraw(chart) {
  chart.plot?.destroy();
  chart.plot = null;
  draw(chart);
}

async function refresh() {
  if (busy) {
    again = true;
    return;
  }
  busy = true;
  try {
    const query = new URLSearchParams({ names: names.join(","), max_points: "1500" });
    const answer = await fetch(`${source}?${query}`, { headers: { Accept: "application/json" } });
    if (answer.ok) show(await answer.json());
  } catch {
    // The portal is away: the next message or the next look brings the curve up to date.
  }
  setTimeout(() => {
    busy = false;
    if (again) {
      again = false;
      refresh();
    }
  }, REFRESH_MS);
}

function show(found) {
  for (const chart of charts) {
    const points = found.series?.[chart.name];
    if (!points) continue;
    chart.points = points;
    draw(chart);
  }
}

function start(box) {
  const card = box.closest(".card");
  const chart = { box, name: box.dataset.chart, points: [], plot: null, isSmooth: false, logScale: false, texts: { step: box.dataset.textStep } };
  charts.push(chart);
  names.push(chart.name);
  source = box.dataset.source;
  card.querySelector("[data-smooth]")?.addEventListener("change", (event) => {
    chart.isSmooth = event.target.checked;
    redraw(chart);
  });
  card.querySelector("[data-log-scale]")?.addEventListener("change", (event) => {
    chart.logScale = event.target.checked;
    redraw(chart);
  });
  new ResizeObserver(() => chart.plot?.setSize({ width: box.clientWidth - 16, height: box.clientHeight - 16 })).observe(box);
}

for (const box of document.querySelectorAll("[data-chart]")) start(box);
if (charts.length) {
  refresh();
  document.body.addEventListener("gangline:metrics", refresh);
  document.body.addEventListener("gangline:change", refresh);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach(redraw));
}
