// One server-sent stream per page, shared by everything on it that wants to be current.
//
// An element with `data-stream` names the stream. Messages become events on <body>: `gangline:log`, `gangline:metrics`,
// `gangline:change` (debounced; htmx parts re-fetch themselves on it). While the stream is down, parts re-fetch slowly.

const QUIET_MS = 350; // several changes at once make one refresh
const FALLBACK_MS = 10_000;

const root = document.querySelector("[data-stream]");
let timer = 0;
let fallback = 0;

function announce(name, detail) {
  document.body.dispatchEvent(new CustomEvent(`gangline:${name}`, { detail }));
}

function changed() {
  if (timer) return;
  timer = setTimeout(() => {
    timer = 0;
    announce("change");
  }, QUIET_MS);
}

function show(on) {
  for (const mark of document.querySelectorAll(".live")) {
    mark.dataset.on = String(on);
    mark.textContent = on ? mark.dataset.textOn : mark.dataset.textOff;
  }
  clearInterval(fallback);
  if (!on) fallback = setInterval(() => document.visibilityState === "visible" && changed(), FALLBACK_MS);
}

function read(message) {
  try {
    return JSON.parse(message.data);
  } catch {
    return {};
  }
}

function listen(address) {
  const source = new EventSource(address);
  source.addEventListener("open", () => show(true));
  source.addEventListener("error", () => show(false));
  source.addEventListener("log", (message) => announce("log", read(message)));
  source.addEventListener("metrics", (message) => announce("metrics", read(message)));
  for (const kind of ["event", "state", "message", "job"]) source.addEventListener(kind, changed);
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
}

if (root) listen(root.dataset.stream);
