// The room's page: what happens in it arrives, in order, once, whatever the network does.
import { offerBlanks } from "./blank.js";
import { compose } from "./compose.js";
import { drawDays } from "./days.js";
import { send } from "./forms.js";
import { localise } from "./local.js";
import { lookAtMail } from "./mail.js";
import { look } from "./me.js";
import { apply, parse, remember, replace, restore } from "./patch.js";
import { fetched, mayPass, stillMine } from "./piece.js";
import { keepPlace, noteQuestions, showNext } from "./questions.js";
import { keepOpen } from "./socket.js";

const timeline = document.getElementById("timeline");
const entries = document.getElementById("entries");
const connection = document.getElementById("connection");
const below = document.getElementById("below");
const still = "still" in timeline.dataset;
// A filtered page stays as it is, but for what becomes of the entries that it shows; what is new it only counts.
const only = "only" in timeline.dataset;
// A page of one topic leaves things out: what was said elsewhere was not read on it.
const partly = only || Boolean(timeline.dataset.topic);
const MOST_ENTRIES = 300;
let cursor = Number(timeline.dataset.cursor);
let unseen = 0;

// --- where the reader is ------------------------------------------------------------------------------------------

const page = document.scrollingElement;
const atEnd = () => page.scrollHeight - page.scrollTop - innerHeight < 120;
const toEnd = () => page.scrollTo({ top: page.scrollHeight, behavior: "instant" });

function showUnseen() {
  if (only) {
    below.hidden = unseen === 0;
    below.querySelector("span").textContent = unseen === 1 ? "1 new entry in the room" : `${unseen} new entries in the room`;
    return;
  }
  below.hidden = unseen === 0;
  below.querySelector("span").textContent = unseen === 1 ? "1 new entry below" : `${unseen} new entries below`;
}

function seen() {
  if (only || document.hidden || !atEnd()) return;
  unseen = 0;
  showUnseen();
  if (!partly) markRead();
}

let readTimer = null;
let readUpTo = 0;
function markRead() {
  if (still || readTimer || readUpTo >= cursor || !document.hasFocus()) return;
  readTimer = setTimeout(async () => {
    const seq = cursor;
    try {
      const form = new FormData();
      form.set("seq", seq);
      form.set("csrfmiddlewaretoken", timeline.dataset.csrf);
      await send(timeline.dataset.read, form);
      readUpTo = seq;
    } catch { /* the next look tries again */ } finally { readTimer = null; }
  }, 800);
}

below.addEventListener("click", (event) => {
  if (only) return;
  event.preventDefault();
  const first = [...entries.querySelectorAll(".entry, .event")].at(-unseen);
  (first ?? entries.lastElementChild).scrollIntoView({ block: "start" });
  unseen = 0;
  showUnseen();
});
addEventListener("scroll", seen, { passive: true });
addEventListener("focus", seen);
document.addEventListener("visibilitychange", seen);

// --- what arrives ---------------------------------------------------------------------------------------------------

const asked = new Map();

async function fetchControls(turn, { asks = false, wait = 2_000 } = {}) {
  const card = document.getElementById(`t${turn}`);
  if (!card) return;
  const mine = card.dataset.may.split(" ").includes(document.body.dataset.me);
  if (!mine && !asks && !card.querySelector(".controls form, .away > *")) return;
  const round = (asked.get(turn) ?? 0) + 1;
  asked.set(turn, round);
  try {
    const reply = await fetched(`/turns/${turn}/controls/`);
    // A later change has asked again: what this answer says is old.
    if (asked.get(turn) !== round) return;
    const stay = atEnd();
    for (const fresh of [...parse(await reply.text()).children]) {
      if (asked.get(turn) !== round) return;
      const old = document.getElementById(fresh.id);
      if (old && fresh.matches(".question") && !old.matches(".question")) continue;
      if (old) replace(old, fresh);
      else if (fresh.matches(".question")) document.getElementById(`t${turn}-asks`)?.append(fresh);
      if (fresh.id.endsWith("-state")) fresh.closest(".card").dataset.state = fresh.dataset.turnState;
    }
    noteQuestions();
    if (stay) toEnd();
    showNext();
  } catch (problem) {
    if (!mayPass(problem)) return;
    const again = () => { if (asked.get(turn) === round) fetchControls(turn, { asks, wait: Math.min(2 * wait, 15_000) }); };
    setTimeout(again, wait * (0.5 + Math.random()));
  }
}

let peopleTimer = null;
function peopleChanged() {
  peopleTimer ??= setTimeout(() => { peopleTimer = null; look("#people").catch(() => {}); }, 300);
}

// A machine that went away, or came back, writes no entry: the column of people knows it first.
const MOST_LOOKS = 10;
document.addEventListener("agentroom:look", () => {
  const rows = [...document.querySelectorAll("#people li[id^=seat]")];
  const offline = new Set(
    rows.filter((row) => row.querySelector(".status[data-state=offline]"))
      .map((row) => row.querySelector(".who > a")?.textContent.trim()),
  );
  const running = entries.querySelectorAll(".card.turn:is([data-state=running], [data-state=stopping])");
  for (const card of [...running].slice(-MOST_LOOKS)) {
    const shown = card.querySelector(".away > *") !== null;
    if (shown !== offline.has(card.dataset.agent)) fetchControls(Number(card.dataset.turn), { asks: true });
  }
  if (!still) lookAtMail(timeline).catch(() => {});
});

function keepBounded() {
  const all = entries.querySelectorAll(":scope > [data-seq]");
  for (const old of [...all].slice(0, Math.max(0, all.length - MOST_ENTRIES))) old.remove();
  if (all.length > MOST_ENTRIES && !document.getElementById("earlier")) {
    const line = document.createElement("p");
    line.className = "earlier";
    line.id = "earlier";
    const link = document.createElement("a");
    link.className = "button quiet";
    link.href = timeline.dataset.earlier ?? `${timeline.dataset.socket.replace("/ws", "")}earlier/`;
    link.textContent = timeline.dataset.earlier ? "Earlier messages" : "Earlier entries";
    line.append(link);
    entries.before(line);
    watchEarlier();
  }
}

// In the account's chat a page may show one topic, or leave some out.
const hidden = new Set((timeline.dataset.hidden ?? "").split(" "));
function inView(part) {
  const topic = timeline.dataset.topic;
  if (topic === undefined || part.target !== "entries") return true;
  const of = parse(part.html).firstElementChild?.dataset.topic;
  return topic ? of === topic : !hidden.has(of);
}

// While the timeline is drawn anew, or what came before is fetched, what arrives waits.
let held = null;

function release() {
  const later = held;
  held = null;
  for (const frame of later) if (frame.cursor > cursor) receive(frame);
}

function receive(frame) {
  if (frame.gone) {
    live.end();
    location.reload();
    return;
  }
  if (held) {
    held.push(frame);
    return;
  }
  if (frame.gap) {
    held = [];
    drawAnew();
    return;
  }
  const stay = atEnd();
  let fresh = 0;
  for (const part of frame.parts) {
    if (!inView(part)) continue;
    if (only && part.mode === "append" && part.target === "entries" && !document.getElementById(part.id)) {
      unseen += 1;
      continue;
    }
    const added = apply(part);
    if (added?.parentElement === entries) fresh += 1;
    const state = part.id.endsWith("-state") ? document.getElementById(part.id) : null;
    if (state) state.closest(".card").dataset.state = state.dataset.turnState;
  }
  cursor = Math.max(cursor, frame.cursor);
  timeline.dataset.cursor = cursor;
  live.send({ ack: cursor });
  if (fresh) {
    document.getElementById("quiet").hidden = true;
    drawDays(entries);
  }
  offerBlanks();
  keepPlace();
  for (const turn of frame.turns ?? []) fetchControls(turn);
  if (frame.people) peopleChanged();
  if (only) showUnseen();
  else if (stay) {
    if (fresh) keepBounded();
    if (frame.parts.length) toEnd();
    seen();
  } else if (fresh) {
    unseen += fresh;
    showUnseen();
  }
}

// Too far behind to catch up piece by piece: draw the page's timeline anew, and keep everything else.
async function drawAnew(wait = 1_000) {
  let fresh;
  try {
    const here = only || timeline.dataset.topic ? location.pathname + location.search : location.pathname;
    const html = await (await fetched(here)).text();
    fresh = new DOMParser().parseFromString(html, "text/html").getElementById("timeline");
  } catch {
    setTimeout(drawAnew, wait, Math.min(2 * wait, 15_000));
    return;
  }
  const stay = atEnd();
  const kept = remember(entries);
  localise(fresh);
  entries.replaceChildren(...fresh.querySelector("#entries").childNodes);
  document.getElementById("earlier")?.remove();
  const earlier = fresh.querySelector("#earlier");
  if (earlier) { entries.before(earlier); watchEarlier(); }
  cursor = Number(fresh.dataset.cursor);
  timeline.dataset.cursor = cursor;
  live.send({ ack: cursor });
  restore(entries, kept);
  document.getElementById("quiet").hidden = entries.children.length > 0;
  drawDays(entries);
  noteQuestions();
  if (stay) toEnd();
  release();
}

const live = still ? null : keepOpen({
  url: () => `${timeline.dataset.socket}?after=${cursor}`,
  receive,
  state: (state) => {
    timeline.dataset.connection = state;
    connection.hidden = state === "open";
    connection.querySelector("span").textContent =
      state === "offline" ? "You are offline. What you write is kept." : "Reconnecting… What you write is kept.";
  },
  opened: (again) => { if (again) look().catch(() => {}); },
  refused: stillMine,
});

// A decision that came too late: the forms say how it stands now.
document.addEventListener("agentroom:refused", (event) => {
  const turn = event.target.closest(".turn-group")?.querySelector(".card.turn")?.dataset.turn;
  if (turn) fetchControls(Number(turn));
});

// --- what came before ------------------------------------------------------------------------------------------------

async function loadEarlier(line) {
  if (held) return;
  held = [];
  const link = line.querySelector("a");
  const words = (link.dataset.words ??= link.textContent);
  link.ariaBusy = "true";
  try {
    const first = entries.querySelector(":scope > [data-seq]");
    const url = new URL(link.href);
    if (first) url.searchParams.set("before", first.dataset.seq);
    const answer = await (await fetched(url)).json();
    link.textContent = words;
    const height = page.scrollHeight;
    const top = page.scrollTop;
    const pieces = parse(answer.html);
    pieces.querySelector(".last-read")?.remove();
    entries.prepend(pieces);
    drawDays(entries);
    if (answer.earlier === null) line.remove();
    page.scrollTo({ top: top + page.scrollHeight - height, behavior: "instant" });
  } catch {
    link.textContent = "This did not load. Try again";
  } finally {
    link.ariaBusy = null;
    release();
  }
}

function watchEarlier() {
  const line = document.getElementById("earlier");
  if (!line) return;
  line.addEventListener("click", (event) => { event.preventDefault(); loadEarlier(line); });
  let armed = false;
  new IntersectionObserver(([sight]) => {
    if (!sight.isIntersecting) armed = true;
    else if (armed && line.isConnected) loadEarlier(line);
  }).observe(line);
}

// A link to an entry opens the fold that it stands in; what is not on the page leads to the nearest before it.
function goTo(hash) {
  const seq = Number(/^#e(\d+)$/.exec(hash)?.[1] ?? NaN);
  const numbered = [...entries.querySelectorAll("[data-seq]")].filter((part) => Number(part.dataset.seq) <= seq);
  const aim = document.getElementById(hash.slice(1)) ?? numbered.at(-1);
  if (!aim) return toEnd();
  for (let fold = aim.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  aim.scrollIntoView({ block: "start" });
}

drawDays(entries);
watchEarlier();
compose({ sent: () => { if (!only) { unseen = 0; showUnseen(); } toEnd(); } });
history.scrollRestoration = "manual";
if (location.hash) goTo(location.hash);
else if (document.getElementById("last-read")) document.getElementById("last-read").scrollIntoView({ block: "center" });
else toEnd();
addEventListener("hashchange", () => goTo(location.hash));
seen();
