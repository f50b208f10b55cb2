// Why mail waits can change without an entry: an agent falls asleep, or is at work.
import { parse, replace } from "./patch.js";
import { fetched } from "./piece.js";

const MOST = 20;

export async function lookAtMail(timeline) {
  const waiting = [...timeline.querySelectorAll(".mail[data-waits]")].slice(-MOST);
  if (!waiting.length) return;
  const url = `${timeline.dataset.mail}?of=${waiting.map((mail) => mail.dataset.waits).join(",")}`;
  const reply = await fetched(url);
  for (const fresh of [...parse(await reply.text()).children]) {
    const old = document.getElementById(fresh.id);
    // What was told meanwhile is newer than this answer.
    if (old && "waits" in old.dataset && old.textContent !== fresh.textContent) replace(old, fresh);
  }
}
