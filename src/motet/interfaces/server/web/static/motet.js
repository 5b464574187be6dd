// Keeps open pages current. One tab of the browser holds the stream of changes and tells the others.
"use strict";

const channel = new BroadcastChannel("motet-changes");
let isStale = false;

// A swap would take the focus away, and what is selected.
function isBusy() {
  const active = document.activeElement;
  const isInside = active !== null && active.id !== "live" && active.closest("#live") !== null && active.closest("[hx-preserve]") === null;
  return document.hidden || isInside || !window.getSelection().isCollapsed;
}

function changed() {
  isStale = isBusy();
  if (!isStale) document.body.dispatchEvent(new Event("motet-changed"));
}

function catchUp() {
  if (isStale) changed();
}

// `what`: "changed", or the name of a log that has grown.
function heard(what) {
  if (what === "changed") changed();
  document.dispatchEvent(new CustomEvent("motet-heard", { detail: what }));
}

function tellAll(what) {
  channel.postMessage(what);
  heard(what);
}

channel.addEventListener("message", (message) => heard(message.data));
for (const name of ["visibilitychange", "selectionchange"]) document.addEventListener(name, catchUp);
document.addEventListener("focusout", () => setTimeout(catchUp));

navigator.locks.request("motet-stream", () => new Promise(() => {
  const stream = new EventSource(`${document.body.dataset.root}/events`);
  stream.addEventListener("log", (event) => tellAll(event.data));
  for (const name of ["changed", "open"]) stream.addEventListener(name, () => tellAll("changed"));
}));

// What another tab heard between this page's making and its listener was not heard here.
document.addEventListener("DOMContentLoaded", async () => {
  const { held } = await navigator.locks.query();
  if (held.some((lock) => lock.name === "motet-stream")) changed();
});

// Calls `draw` whenever the page is there or has new contents, another width, or other colours.
function keepDrawn(draw) {
  let frame = 0;
  const drawSoon = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(draw);
  };
  for (const name of ["DOMContentLoaded", "htmx:afterSettle"]) document.addEventListener(name, draw);
  window.addEventListener("resize", drawSoon);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
}

// The plot of a place; the one before it also listens to the window.
const plots = new Map();
function plotIn(place, makePlot) {
  if (plots.has(place.id)) plots.get(place.id).destroy();
  plots.delete(place.id);
  place.replaceChildren();
  const plot = makePlot();
  if (plot) plots.set(place.id, plot);
}

// A line of every row of the place's curves over the first one; colours are those of swatches.
function drawCurvesIn(id, colours) {
  const place = document.getElementById(id);
  if (!place) return;
  const style = getComputedStyle(document.body);
  const [quiet, grid] = ["--quiet", "--line"].map((name) => style.getPropertyValue(name));
  const axis = { stroke: quiet, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid } };
  plotIn(place, () => new uPlot({
    width: place.clientWidth, height: 220,
    scales: { x: { time: false } },
    legend: { show: false },
    axes: [{ ...axis, label: "epoch" }, { ...axis, size: 70 }],
    series: [{}, ...colours.map((stroke) => ({ stroke, width: 2, points: { show: false } }))],
  }, JSON.parse(place.dataset.curves), place));
}

keepDrawn(() => {
  drawCurvesIn("loss", ["#3f8efc"]);
  drawCurvesIn("times", ["#3f8efc", "#f28e2b", "#1fa187"]);
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const answer = event.detail.xhr;
  // A page that a sign-out or an error has taken the place of is not swapped in.
  const isPage = answer.status === 200 && new URL(answer.responseURL).pathname !== `${document.body.dataset.root}/login`;
  isStale = isBusy();  // The focus may have come while the answer was on its way.
  event.detail.shouldSwap = isPage && !isStale;
  if (answer.status === 200 && !isPage) location.reload();
});
