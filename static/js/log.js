// The log viewer: a bounded number of rows over a log of any length.
//
// Rows are windows that the server cuts at line ends; scrolling to either border fetches the next one and drops rows at
// the other. Everything is put in as text, never as markup.

const MAX_ROWS = 6000;
const LINES_BEFORE = 200; // that the server shows above a line
const NEAR_PX = 240;
const FAR_BYTES = 2 * 1024 * 1024; // more behind than this: go to the end at once
const ESCAPE = /\u001b\[([0-9;]*)([A-Za-z])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b./g;

const card = document.querySelector("[data-log]");
const view = card?.querySelector("[data-log-view]");
const list = card?.querySelector("[data-log-lines]");
const followButton = card?.querySelector("[data-log-follow]");
const hitsBox = card?.querySelector("[data-log-hits]");

const state = {
  attempt: card?.dataset.attempt ?? "",
  rank: card?.dataset.rank ?? "0",
  offset: 0, // of the first row
  nextOffset: 0, // behind the last row
  firstLine: null, // number of the first row
  size: 0,
  closed: false,
  pinned: card?.dataset.pinned === "yes", // an attempt was chosen; else the newest one is followed
  follow: true,
};

/* ---- rows -------------------------------------------------------------------------------------------- */

function paint(row, text) {
  if (!text.includes("\u001b")) {
    row.textContent = text;
    return;
  }
  let codes = [];
  let from = 0;
  row.replaceChildren();
  for (const match of text.matchAll(ESCAPE)) {
    piece(row, text.slice(from, match.index), codes);
    from = match.index + match[0].length;
    if (match[2] === "m") codes = colours(codes, match[1]);
  }
  piece(row, text.slice(from), codes);
}

function piece(row, text, codes) {
  if (!text) return;
  const part = document.createElement("span");
  part.textContent = text;
  part.className = codes.map((code) => `ansi-${code}`).join(" ");
  row.append(part);
}

function colours(before, given) {
  const codes = given === "" ? [0] : given.split(";").map(Number);
  return codes.reduce((known, code) => (code === 0 ? [] : [...known.filter((one) => one !== code), code]), before);
}

function rowsOf(lines, firstLine) {
  return lines.map((text, index) => {
    const row = document.createElement("li");
    if (firstLine !== null) row.dataset.line = String(firstLine + index);
    paint(row, text);
    return row;
  });
}

function setUnfinished(text) {
  list.querySelector(".unfinished")?.remove();
  if (!text) return;
  const row = document.createElement("li");
  row.className = "unfinished";
  paint(row, text);
  list.append(row);
}

function replaceAll(window) {
  list.replaceChildren(...rowsOf(window.lines, window.first_line));
  state.offset = window.offset;
  state.nextOffset = window.next_offset;
  state.firstLine = window.first_line;
  settle(window);
}

function append(window) {
  const line = state.firstLine === null ? null : state.firstLine + numRows();
  list.querySelector(".unfinished")?.remove();
  list.append(...rowsOf(window.lines, line));
  state.nextOffset = window.next_offset;
  settle(window);
  dropFront();
}

function prepend(window) {
  const height = view.scrollHeight;
  list.prepend(...rowsOf(window.lines, window.first_line));
  state.offset = window.offset;
  state.firstLine = window.first_line;
  dropBack();
  view.scrollTop += view.scrollHeight - height;
}

function settle(window) {
  state.size = window.size;
  state.closed = window.closed;
  setUnfinished(window.unfinished);
  card.querySelector("[data-log-empty]")?.toggleAttribute("hidden", Boolean(list.childElementCount));
  list.removeAttribute("start");
  card.dataset.lines = String(numRows());
}

const numRows = () => list.querySelectorAll("li:not(.unfinished)").length;

// Dropped rows are fetched again when one scrolls back to them. Their bytes are not known here, so the border moves to
// a line that the server finds by number.
function dropFront() {
  const surplus = numRows() - MAX_ROWS;
  if (surplus <= 0) return;
  const height = view.scrollHeight;
  for (let count = 0; count < surplus; count += 1) list.firstElementChild.remove();
  if (state.firstLine !== null) state.firstLine += surplus;
  state.offset = null;
  if (!state.follow) view.scrollTop -= height - view.scrollHeight;
}

function dropBack() {
  const surplus = numRows() - MAX_ROWS;
  if (surplus <= 0) return;
  setUnfinished("");
  for (let count = 0; count < surplus; count += 1) list.lastElementChild.remove();
  state.nextOffset = null;
}

/* ---- fetching ---------------------------------------------------------------------------------------- */

async function ask(path, query, whose = { attempt: state.attempt }) {
  const address = new URLSearchParams({ ...whose, rank: state.rank, ...query });
  const answer = await fetch(`${card.dataset.log}${path}?${address}`, { headers: { Accept: "application/json" } });
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

// One thing at a time, in the order asked for; what is already waiting is not asked for twice.
const waiting = new Set();
let chain = Promise.resolve();

function inTurn(name, work) {
  if (waiting.has(name)) return;
  waiting.add(name);
  chain = chain.then(async () => {
    waiting.delete(name);
    try {
      await work();
    } catch {
      // The portal is away or the session ended: the next message or scroll tries again.
    }
  });
}

// The end of the log: of the chosen attempt, or of the newest there is by now.
async function fresh() {
  const window = await ask("", {}, state.pinned ? undefined : {});
  if (window.attempt === null) return;
  state.attempt = String(window.attempt);
  const link = card.querySelector("[data-log-download]");
  link.href = link.href.replace(/attempt=\d*/, `attempt=${state.attempt}`);
  replaceAll(window);
  toEnd();
}

const toEnd = () => {
  view.scrollTop = view.scrollHeight;
};

const catchUp = () => inTurn("end", readOn);

async function readOn() {
  if (!state.attempt) {
    await fresh();
    return;
  }
  if (state.nextOffset === null || state.size - state.nextOffset > FAR_BYTES) replaceAll(await ask("", {}));
  let grew = true;
  while (grew && state.follow) {
    const window = await ask("", { from: state.nextOffset });
    grew = window.next_offset > state.nextOffset;
    if (window.size - window.next_offset > FAR_BYTES) replaceAll(await ask("", {}));
    else append(window);
    toEnd();
  }
}

async function readOlder() {
  if (!state.attempt || state.offset === 0 || state.firstLine === 1) return;
  if (state.offset !== null) {
    prepend(await ask("", { before: state.offset, first_line: state.firstLine ?? "" }));
    return;
  }
  // The front was dropped: find it again by its number.
  const near = await ask("", state.firstLine === null ? {} : { line: state.firstLine });
  if (state.firstLine === null) replaceAll(near);
  else prepend({ ...near, lines: near.lines.slice(0, Math.max(0, state.firstLine - near.first_line)) });
}

async function readNewer() {
  if (!state.attempt || state.follow) return;
  if (state.nextOffset !== null) {
    const window = await ask("", { from: state.nextOffset });
    if (window.next_offset > state.nextOffset) append(window);
    return;
  }
  // The end was dropped: find it again by its number.
  const last = state.firstLine + numRows();
  const window = await ask("", { line: last + LINES_BEFORE });
  state.nextOffset = window.next_offset;
  list.append(...rowsOf(window.lines.slice(Math.max(0, last - window.first_line)), last));
  dropFront();
}

function jump(line) {
  setFollow(false);
  inTurn(`line ${line}`, async () => {
    replaceAll(await ask("", { line }));
    const row = list.querySelector(`li[data-line="${line}"]`) ?? list.lastElementChild;
    row?.classList.add("is-found");
    row?.scrollIntoView({ block: "center" });
  });
}

/* ---- search ------------------------------------------------------------------------------------------ */

async function search(text) {
  const line = /^:?(\d{1,12})$/.exec(text.trim());
  hitsBox.hidden = false;
  hitsBox.replaceChildren(note(card.dataset.textSearching));
  try {
    if (line) {
      hitsBox.hidden = true;
      jump(Number(line[1]));
      return;
    }
    const found = await ask("/search", { text });
    const more = found.next_offset === null ? "" : ` (${card.dataset.textMore})`;
    const head = found.hits.length ? `${found.hits.length} ${card.dataset.textHits}${more}` : card.dataset.textNone;
    hitsBox.replaceChildren(note(head), ...found.hits.map(hitButton));
    if (found.hits.length) jump(found.hits[0].line);
  } catch {
    hitsBox.replaceChildren(note(document.body.dataset.textFailed));
  }
}

function note(text) {
  const line = document.createElement("p");
  line.textContent = text;
  return line;
}

function hitButton(hit) {
  const button = document.createElement("button");
  const number = document.createElement("b");
  number.textContent = hit.line.toLocaleString();
  button.type = "button";
  button.append(number, hit.text.replace(ESCAPE, "").slice(0, 400));
  button.addEventListener("click", () => jump(hit.line));
  return button;
}

/* ---- controls ---------------------------------------------------------------------------------------- */

function setFollow(on) {
  state.follow = on;
  followButton.setAttribute("aria-pressed", String(on));
}

function start() {
  state.follow = true;
  followButton.addEventListener("click", () => {
    setFollow(!state.follow);
    if (state.follow) catchUp();
  });
  card.querySelector("[data-log-first]").addEventListener("click", () => jump(1));
  card.addEventListener("change", (event) => event.target.closest("[data-log-choice]")?.requestSubmit());
  card.querySelector("[data-log-search]").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = event.target.elements.text.value;
    if (text) search(text);
    else hitsBox.hidden = true;
  });
  view.addEventListener("scroll", onScroll, { passive: true });
  document.body.addEventListener("gangline:log", (event) => {
    const { attempt, rank, size } = event.detail;
    if (String(rank) !== state.rank) return;
    const isNewer = !state.pinned && attempt !== undefined && Number(attempt) > Number(state.attempt);
    if (isNewer && state.follow) inTurn("fresh", fresh);
    if (isNewer || (attempt !== undefined && String(attempt) !== state.attempt)) return;
    state.size = Math.max(state.size, size ?? 0);
    if (state.follow) catchUp();
  });
  // What came while no message did: the end of a stream, or lines during a lost connection.
  document.body.addEventListener("gangline:change", () => state.follow && !state.closed && catchUp());
  inTurn("fresh", fresh);
}

let lastTop = 0;

function onScroll() {
  const up = view.scrollTop < lastTop - 2;
  lastTop = view.scrollTop;
  const atEnd = view.scrollHeight - view.scrollTop - view.clientHeight < NEAR_PX / 4;
  if (up && state.follow && !atEnd) setFollow(false);
  if (view.scrollTop < NEAR_PX && up) inTurn("older", readOlder);
  else if (view.scrollHeight - view.scrollTop - view.clientHeight < NEAR_PX && !state.follow) inTurn("newer", readNewer);
}

if (card) start();
