// Follows the log of a job: the stream of changes says when it has grown, and the page reads on.
"use strict";

const MOST_CHARACTERS = 500_000;
let isPaused = false;
let isReading = false;
let isToReadAgain = false;

function shownLog() {
  return document.querySelector("pre.log");
}

function isAtEnd(log) {
  return log.scrollHeight - log.scrollTop - log.clientHeight < 5;
}

// Both parts of the log are text: what stays, and the line at the end.
function add(log, part) {
  const [done, open] = log.children;
  const wasAtEnd = isAtEnd(log);
  if (!done.firstChild) done.append("");
  const text = done.firstChild;
  text.appendData(part.done);
  const surplus = text.length - MOST_CHARACTERS;
  if (surplus > 0) text.deleteData(0, text.data.indexOf("\n", surplus) + 1 || surplus);
  open.textContent = part.open;
  if (wasAtEnd) log.scrollTop = log.scrollHeight;
}

async function readPart(log) {
  const root = document.body.dataset.root;
  const answer = await fetch(`${root}/jobs/${log.dataset.log}?offset=${log.dataset.next}`, { redirect: "error" });
  if (!answer.ok) return false;
  const part = await answer.json();
  if (!log.isConnected) return false;  // Another attempt has taken its place.
  if (isPaused) return false;  // The button was pressed after the request; the part is read again.
  add(log, part);
  log.dataset.next = part.next;
  if (part.is_complete) log.dataset.ended = "";
  return part.is_behind;
}

async function readOn() {
  isToReadAgain = isReading;
  if (isReading) return;
  isReading = true;
  try {
    do {
      isToReadAgain = false;
      const log = shownLog();
      if (!log || isPaused || document.hidden || "ended" in log.dataset) break;
      isToReadAgain = await readPart(log) || isToReadAgain;
    } while (isToReadAgain);
  } catch {
    // The server does not answer; when it does again, the stream opens and says so.
  } finally {
    isReading = false;
    showButton();
  }
}

function showButton() {
  const [button, log] = [document.getElementById("pause"), shownLog()];
  if (!button) return;
  button.hidden = "ended" in log.dataset;
  button.textContent = isPaused ? "Follow" : "Pause";
}

document.addEventListener("click", (event) => {
  if (event.target.id !== "pause") return;
  isPaused = !isPaused;
  showButton();
  readOn();
});
document.addEventListener("motet-heard", (event) => {
  const log = shownLog();
  if (log && ["changed", log.dataset.log].includes(event.detail)) readOn();
});
document.addEventListener("visibilitychange", readOn);

// A swap of the page moves the log and thereby loses where it was scrolled to.
let scrolledTo = null;
document.addEventListener("htmx:beforeSwap", () => {
  const log = shownLog();
  scrolledTo = log && !isAtEnd(log) ? { name: log.dataset.log, top: log.scrollTop } : null;
});
for (const name of ["DOMContentLoaded", "htmx:afterSwap"]) {
  document.addEventListener(name, () => {
    const log = shownLog();
    if (!log) return;
    log.scrollTop = scrolledTo && scrolledTo.name === log.dataset.log ? scrolledTo.top : log.scrollHeight;
    readOn();
  });
}
