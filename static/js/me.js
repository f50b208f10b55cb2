// The reader's own socket: it only says "look", and what is marked data-live is fetched again.
import { keepOpen } from "./socket.js";
import { localise } from "./local.js";

async function fetchPage(url) {
  const reply = await fetch(url, { headers: { "X-Requested-With": "fetch" }, credentials: "same-origin" });
  if (!reply.ok) return null;
  return new DOMParser().parseFromString(await reply.text(), "text/html");
}

const isBusy = (part) =>
  part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");

export async function look(parts = "[data-live][id]") {
  const pages = new Map();
  for (const part of document.querySelectorAll(parts)) {
    const url = part.dataset.live || location.href;
    if (!pages.has(url)) pages.set(url, fetchPage(url));
    const fresh = (await pages.get(url))?.getElementById(part.id);
    if (!fresh || isBusy(part)) continue;
    localise(fresh);
    const current = part.querySelector("[aria-current]")?.getAttribute("href");
    if (current) fresh.querySelector(`[href="${CSS.escape(current)}"]`)?.setAttribute("aria-current", "page");
    part.replaceChildren(...fresh.childNodes);
  }
  document.dispatchEvent(new Event("agentroom:look"));
}

export function follow() {
  let queued = null;
  const soon = () => {
    queued ??= setTimeout(() => { queued = null; look().catch(() => {}); }, 200);
  };
  keepOpen({ url: () => "/ws/me/", receive: (message) => { if (message.gone) location.reload(); else if (message.look) soon(); }, opened: (again) => { if (again) soon(); } });
}
