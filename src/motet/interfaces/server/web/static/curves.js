// Draws the completion times of a replay: for every run the share of jobs that had completed.
"use strict";

const ROUND = [1, 2, 5];
const ROUND_TIMES = [
  ...[0.001, 0.01, 0.1, 1].flatMap((size) => ROUND.map((each) => each * size)),
  ...[10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 18000, 36000],
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((days) => days * 86400),
];
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1], ["ms", 0.001]];

function timeWords(seconds) {
  const [name, size] = UNITS.find(([, size]) => seconds >= size) || UNITS[UNITS.length - 1];
  return `${Number((seconds / size).toPrecision(3))} ${name}`;
}

function colourOf(number) {
  const swatch = document.querySelector(`.swatch .fill${number}`);
  return swatch ? getComputedStyle(swatch).fill : "gray";
}

function drawCurves() {
  const place = document.getElementById("curves");
  if (place) plotIn(place, () => plotOfCurves(place));
}

function plotOfCurves(place) {
  const curves = JSON.parse(place.dataset.curves).filter((curve) => curve.x.length);
  if (!curves.length) return null;
  const style = getComputedStyle(document.body);
  const [quiet, grid] = ["--quiet", "--line"].map((name) => style.getPropertyValue(name));
  const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  // Every curve begins at 0 below its first time and stays at its last share until the end.
  const first = Math.min(...curves.map((curve) => curve.x[0])) / 1.1;
  const last = Math.max(...curves.map((curve) => curve.x[curve.x.length - 1])) * 1.1;
  const tables = curves.map(({ x, y }) => [[first, ...x, last], [0, ...y, y[y.length - 1]]]);
  const shown = ROUND_TIMES.filter((each) => each >= first && each <= last);
  const every = Math.ceil(shown.length * 70 / place.clientWidth);
  const splits = shown.length > 1 ? shown.filter((_, number) => number % every === 0) : [first, last];
  return new uPlot({
    width: place.clientWidth, height: 300,
    scales: { x: { time: false, distr: 3, range: [first, last] }, y: { range: [0, 1] } },
    legend: { show: false },
    axes: [
      { ...axis, label: "completion time", splits: () => splits, filter: (_, ticks) => ticks, values: (_, ticks) => ticks.map(timeWords) },
      { ...axis, label: "share of jobs", size: 60, values: (_, ticks) => ticks.map((each) => `${Math.round(each * 100)} %`) },
    ],
    series: [{}, ...curves.map(({ label, colour, dash }) => ({
      label, stroke: colourOf(colour), dash, width: 2, spanGaps: true,
      points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }),
    }))],
  }, uPlot.join(tables), place);
}

keepDrawn(drawCurves);
