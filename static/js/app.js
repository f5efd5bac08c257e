// What every page needs: ticking clocks, dialogs, copy buttons, toasts, guards against double submission.
// Pages stay readable without any of it.

const body = document.body;

/* ---- clocks ------------------------------------------------------------------------------------------ */

const [dayUnit, hourUnit, minuteUnit, secondUnit, between] = body.dataset.durationUnits.split("|");

export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 60) return `${whole}${secondUnit}`;
  if (whole < 3600) return `${Math.floor(whole / 60)}${minuteUnit}${between}${two(whole % 60)}${secondUnit}`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}${hourUnit}${between}${two(Math.floor((whole % 3600) / 60))}${minuteUnit}`;
  return `${Math.floor(whole / 86400)}${dayUnit}${between}${Math.floor((whole % 86400) / 3600)}${hourUnit}`;
}

function tick() {
  for (const clock of document.querySelectorAll("time[data-since]")) {
    const text = span((Date.now() - Number(clock.dataset.since)) / 1000);
    if (clock.textContent !== text) clock.textContent = text;
  }
}

setInterval(tick, 1000);

/* ---- toasts ------------------------------------------------------------------------------------------ */

export function toast(text) {
  const box = document.querySelector("#toasts");
  const shown = [...box.querySelectorAll("p")].some((known) => known.textContent === text);
  if (shown) return;
  const copy = document.querySelector("#toast-template").content.cloneNode(true);
  copy.querySelector("p").textContent = text;
  box.append(copy);
}

for (const note of document.querySelectorAll(".toast:not(.error)")) setTimeout(() => note.remove(), 7000);

/* ---- clicks ------------------------------------------------------------------------------------------ */

async function copyText(button) {
  const source = document.querySelector(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(source ? source.textContent.trim() : button.dataset.copy);
  } catch {
    selectText(source);
    return;
  }
  const label = button.querySelector("[data-label]");
  const before = label?.textContent;
  button.classList.add("copied");
  if (label) label.textContent = body.dataset.textCopied;
  setTimeout(() => {
    button.classList.remove("copied");
    if (label) label.textContent = before;
  }, 1600);
}

function selectText(node) {
  if (node) getSelection().selectAllChildren(node);
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("[data-dismiss], [data-copy], [data-opens], [data-closes]");
  if (!target) return;
  if ("dismiss" in target.dataset) target.closest(".toast").remove();
  else if ("copy" in target.dataset) copyText(target);
  else if ("opens" in target.dataset) {
    event.preventDefault();
    document.getElementById(target.dataset.opens)?.showModal();
  } else if (target.closest("dialog")) {
    event.preventDefault();
    target.closest("dialog").close();
  }
});

// A click on the veil closes a dialog, as Escape does.
document.addEventListener("click", (event) => {
  if (event.target instanceof HTMLDialogElement) event.target.close();
});

// A row is one big link: a click anywhere that is not a control follows its first link.
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-href]");
  if (!row || event.target.closest("a, button, input, label, select") || String(getSelection())) return;
  location.assign(row.dataset.href);
});

/* ---- forms ------------------------------------------------------------------------------------------- */

// The second of two quick submissions is stopped here; the server's submission key is what makes it safe.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  form.setAttribute("aria-busy", "true");
});

// Coming back by the back button shows the page as it was left: make its forms usable again.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
  }
});

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (const field of document.querySelectorAll("input[data-browser-zone]")) field.value = zone ?? "";

/* ---- htmx -------------------------------------------------------------------------------------------- */

for (const failure of ["htmx:sendError", "htmx:timeout"]) {
  body.addEventListener(failure, () => toast(body.dataset.textFailed));
}

// A session that has ended answers with the log-in page: show it whole instead of inside a part of this one.
body.addEventListener("htmx:beforeSwap", (event) => {
  const reply = event.detail.xhr;
  if (reply.responseURL && new URL(reply.responseURL).pathname === "/login") {
    event.detail.shouldSwap = false;
    location.reload();
  }
});

body.addEventListener("htmx:afterRequest", (event) => {
  const form = event.target.closest?.("form[data-sent]");
  if (form) {
    delete form.dataset.sent;
    form.removeAttribute("aria-busy");
  }
});
