// The reader's own socket: it only says "look", and what is marked data-live is fetched again.
import { keepOpen } from "./socket.js";
import { localise } from "./local.js";
import { remember, restore } from "./patch.js";
import { mayPass, Refused, stillMine } from "./piece.js";
import { noteQuestions } from "./questions.js";

// A machine that went away tells nobody: what shows its state, marked data-poll, is looked at again while somebody reads.
const POLL = 14_000;
// Milliseconds, about, until what could not be fetched is asked for once more.
const AGAIN = 4_000;
let lookedAt = Date.now();

async function fetchPage(url) {
  const reply = await fetch(url, { headers: { "X-Requested-With": "fetch" }, credentials: "same-origin" });
  if (reply.status >= 500 || reply.status === 429) throw new Refused(reply.status);
  if (!reply.ok) return null;
  return new DOMParser().parseFromString(await reply.text(), "text/html");
}

const isBusy = (part) =>
  part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

// What was drawn last, without the tokens that differ each time: the same again leaves the page alone.
const drawn = new WeakMap();
function sameAsBefore(part, fresh) {
  const html = fresh.innerHTML.replaceAll(/name="csrfmiddlewaretoken" value="[^"]*"/g, "");
  const same = drawn.get(part) === html;
  drawn.set(part, html);
  return same;
}

const ALL = "[data-live][id]";
const NOT_POLLED = "[data-live][id]:not([data-poll])";

export async function look(parts = ALL) {
  const pages = new Map();
  if (parts === ALL) lookedAt = Date.now();
  for (const part of document.querySelectorAll(parts)) {
    const url = part.dataset.live || location.href;
    if (!pages.has(url)) pages.set(url, fetchPage(url));
    const fresh = (await pages.get(url))?.getElementById(part.id);
    if (!fresh || isBusy(part)) continue;
    localise(fresh);
    const current = part.querySelector("[aria-current]")?.getAttribute("href");
    if (current) fresh.querySelector(`[href="${CSS.escape(current)}"]`)?.setAttribute("aria-current", "page");
    if (sameAsBefore(part, fresh)) continue;
    const kept = remember(part);
    part.replaceChildren(...fresh.childNodes);
    restore(part, kept);
  }
  noteQuestions();
  document.dispatchEvent(new Event("agentroom:look"));
}

function poll() {
  if (document.hidden || Date.now() - lookedAt < POLL - 1_000) return;
  lookedAt = Date.now();
  if (document.querySelector("[data-poll]")) look("[data-poll]").catch(() => {});
}

export function follow() {
  let queued = null;
  let wanted = null;
  const soon = (parts = ALL, wait = 200) => {
    if (wanted !== ALL) wanted = parts;
    queued ??= setTimeout(() => {
      const now = wanted;
      queued = wanted = null;
      look(now).catch((problem) => { if (mayPass(problem)) soon(now, AGAIN * (0.5 + Math.random())); });
    }, wait);
  };
  keepOpen({
    url: () => "/ws/me/",
    receive: (message) => { if (message.gone) location.reload(); else if (message.look) soon(); },
    // What happened since the page was drawn, or since it was away, nobody told it.
    opened: (again) => soon(again ? ALL : NOT_POLLED),
    refused: stillMine,
  });
  setInterval(poll, POLL);
  document.addEventListener("visibilitychange", poll);
}
