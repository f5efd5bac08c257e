// Form and job file side by side. The server makes each from the other; here only: which side was edited last, where the
// problems belong, and colours for the job file.

const form = document.getElementById("submit-form");
const source = document.getElementById("source");
const formSide = document.getElementById("form-side");
const yamlSide = document.getElementById("yaml-side");

function edited(side, name) {
  source.value = name;
  side.dispatchEvent(new CustomEvent(`gangline:${name}`));
}

function start() {
  for (const kind of ["input", "change"]) {
    formSide.addEventListener(kind, (event) => {
      if (event.target.type === "file") return;
      totalUp();
      edited(formSide, "form");
    });
  }
  yamlSide.addEventListener("input", () => {
    paint();
    edited(yamlSide, "yaml");
  });
  yamlSide.addEventListener("scroll", follow, { capture: true, passive: true });
  document.body.addEventListener("htmx:afterSettle", settle);
  // The side that someone is typing into is never replaced under their hands.
  document.body.addEventListener("htmx:oobBeforeSwap", (event) => {
    if (event.detail.target.contains(document.activeElement)) event.detail.shouldSwap = false;
  });
  document.querySelector("[data-copy-value]")?.addEventListener("click", copy);
  settle();
}

function settle() {
  paint();
  totalUp();
  markProblems();
}

function markProblems() {
  const problems = new Map();
  for (const item of document.querySelectorAll("[data-problem]")) {
    problems.set(item.dataset.problem, item.querySelector("span").textContent);
  }
  for (const field of form.querySelectorAll("[data-path]")) {
    const path = [...problems.keys()].find((key) => key === field.dataset.path || key.startsWith(`${field.dataset.path}[`) || (field.dataset.path === "environment.variables" && key.startsWith("environment.variables")));
    field.toggleAttribute("aria-invalid", path !== undefined);
    if (path !== undefined) field.setAttribute("aria-invalid", "true");
    const message = form.querySelector(`[data-error-for="${field.dataset.path}"]`);
    if (message) message.textContent = path === undefined ? "" : problems.get(path);
  }
}

function totalUp() {
  const shown = document.querySelector("[data-total-devices]");
  if (!shown) return;
  const value = (name) => Number(form.elements[name].value || 1);
  const total = value("workers") * value("accelerators");
  shown.textContent = Number.isFinite(total) ? `${value("workers")} × ${value("accelerators")} = ${total}` : "";
}

/* ---- colours for the job file ------------------------------------------------------------------------ */

const LINE = /^(\s*(?:- )*)([^\s#'"{[][^:#]*|"[^"]*"|'[^']*')(:)(?=\s|$)(.*)$/;
const WORDS = new Set(["true", "false", "null", "auto", "~"]);

function paint() {
  const text = document.getElementById("spec");
  const layer = yamlSide.querySelector(".editor-paint");
  layer.replaceChildren(...text.value.split("\n").flatMap((line) => [...coloured(line), "\n"]), "\n");
  yamlSide.classList.add("is-painted");
  follow();
}

function coloured(line) {
  if (/^\s*#/.test(line)) return [mark("y-note", line)];
  const match = LINE.exec(line);
  if (!match) return values(line);
  return [match[1], mark("y-key", match[2]), match[3], ...values(match[4])];
}

function values(text) {
  const note = text.search(/\s#/);
  const body = note < 0 ? text : text.slice(0, note);
  const parts = body.split(/("[^"]*"|'[^']*'|[\s,[\]{}:]+)/).filter(Boolean).map(value);
  return note < 0 ? parts : [...parts, mark("y-note", text.slice(note))];
}

function value(part) {
  if (/^["']/.test(part)) return mark("y-text", part);
  if (/^-?\d+(\.\d+)?(e[-+]?\d+)?[A-Za-z]{0,3}$/i.test(part)) return mark("y-number", part);
  return WORDS.has(part) ? mark("y-word", part) : part;
}

function mark(css, text) {
  const part = document.createElement("span");
  part.className = css;
  part.textContent = text;
  return part;
}

function follow() {
  const text = document.getElementById("spec");
  const layer = yamlSide.querySelector(".editor-paint");
  layer.scrollTop = text.scrollTop;
  layer.scrollLeft = text.scrollLeft;
}

async function copy(event) {
  const button = event.currentTarget;
  await navigator.clipboard?.writeText(document.querySelector(button.dataset.copyValue).value);
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), 1600);
}

if (form) start();
