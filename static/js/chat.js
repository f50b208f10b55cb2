// The composer of the account's chat: what is written may answer a message, and then keeps its topic.
import { answering } from "./answering.js";

const form = document.getElementById("compose");
const line = document.getElementById("answering");
const entries = document.getElementById("entries");

function answer(entry) {
  answering(form, entry?.dataset.seq, entry?.dataset.topic);
  // Under another message, or in another topic, it is another message.
  form.elements.client_id.value = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  form.dispatchEvent(new Event("change"));
}

const plainly = (event) => !(event.metaKey || event.ctrlKey || event.shiftKey || event.button);

entries.addEventListener("click", (event) => {
  const link = event.target.closest("a.reply");
  if (!link || !plainly(event)) return;
  event.preventDefault();
  answer(link.closest(".entry"));
  form.elements.body.focus();
});
line.addEventListener("click", (event) => {
  if (!event.target.closest("a") || !plainly(event)) return;
  event.preventDefault();
  answer(null);
  form.elements.body.focus();
});
form.addEventListener("agentroom:said", () => {
  const of = form.elements.reply_to.value ? line.querySelector("strong").textContent : form.elements.topic.value.trim() || "general";
  const { topic: only, hidden, still } = document.getElementById("timeline").dataset;
  answer(null);
  // To where it can be seen.
  if ((only && only !== of) || hidden.split(" ").includes(of)) location.assign(`/chat/?topic=${encodeURIComponent(of)}`);
  else if (still !== undefined) location.assign(only ? `/chat/?topic=${encodeURIComponent(only)}` : "/chat/");
});
form.elements.topic.addEventListener("change", () => { if (!form.elements.reply_to.value) answer(null); });
