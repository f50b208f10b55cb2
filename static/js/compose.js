// The composer: the draft is kept until the server has it.
import { aboutWhat, answering } from "./answering.js";
import { send } from "./forms.js";
import { mentions } from "./mentions.js";

const fresh = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random().toString(36).slice(2)}`;

function whyNot(error) {
  if (!error.status) return "Your message was not sent: the server did not answer. It is kept here; send it again.";
  if (error.status === 401) return `Your message was not sent: ${error.message} It is kept here.`;
  if (error.status === 409) return "An earlier try may have arrived already: look above. Send says this as a message of its own.";
  return `Your message was not sent: ${error.message}`;
}

export function compose({ sent }) {
  const form = document.getElementById("compose");
  if (!form) return;
  const text = form.elements.body;
  const id = form.elements.client_id;
  const files = form.elements.files;
  const button = document.getElementById("send");
  const problem = document.getElementById("problem");
  const key = `agentroom:draft:${form.dataset.room}`;

  // A draft keeps the id under which it was tried, so that sending it again can't say it twice; one that was not tried
  // has none yet, since another tab may hold the same words.
  const draft = JSON.parse(localStorage.getItem(key) ?? "null");
  let tried = null;
  id.value = fresh();
  if (draft && !text.value) {
    text.value = draft.body;
    const chats = form.elements.reply_to;
    if (chats && !form.elements.topic.value) form.elements.topic.value = draft.topic ?? "";
    if (chats && draft.reply_to && !chats.value) answering(form, draft.reply_to, draft.of);
    if (draft.id && (!chats || chats.value === draft.reply_to)) {
      id.value = draft.id;
      tried = draft.body;
    }
  }
  const keep = () => {
    if (!text.value) return localStorage.removeItem(key);
    const kept = { body: text.value, id: tried === text.value ? id.value : "" };
    if (form.elements.reply_to) Object.assign(kept, aboutWhat(form));
    localStorage.setItem(key, JSON.stringify(kept));
  };
  const grow = () => {
    if (CSS.supports("field-sizing", "content")) return;
    text.rows = Math.min(12, Math.max(1, text.value.split("\n").length));
  };

  const list = document.getElementById("mention-list") ? mentions(text) : { key: () => false };
  text.addEventListener("input", () => {
    // Other words are another message.
    if (tried !== null && text.value !== tried) { id.value = fresh(); tried = null; }
    keep();
    grow();
  });

  form.addEventListener("change", keep);

  const byThumb = matchMedia("(pointer: coarse)");
  text.addEventListener("keydown", (event) => {
    if (event.isComposing || list.key(event)) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    if (event.ctrlKey || event.metaKey || !byThumb.matches) {
      event.preventDefault();
      form.requestSubmit();
    }
  });

  files?.addEventListener("change", () => {
    const rows = [...files.files].map((file) => {
      const row = document.createElement("li");
      row.className = "badge";
      row.textContent = file.name;
      return row;
    });
    if (rows.length) {
      const drop = document.createElement("button");
      drop.type = "button";
      drop.className = "button quiet";
      drop.textContent = "Remove";
      drop.addEventListener("click", () => { files.value = ""; files.dispatchEvent(new Event("change")); text.focus(); });
      const row = document.createElement("li");
      row.append(drop);
      rows.push(row);
    }
    document.getElementById("attached").replaceChildren(...rows);
  });
  text.addEventListener("paste", (event) => {
    if (!files || !event.clipboardData.files.length) return;
    files.files = event.clipboardData.files;
    files.dispatchEvent(new Event("change"));
  });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.ariaBusy === "true" || (!text.value.trim() && !files?.files.length)) return;
    button.ariaBusy = "true";
    const body = new FormData(form);
    tried = text.value;
    // Before it goes: whoever reloads now must not say it twice.
    keep();
    try {
      await send(form.action, body);
      problem.hidden = true;
      // What was typed while it was on its way stays.
      if (text.value === tried) text.value = "";
      id.value = fresh();
      tried = null;
      if (files) {
        files.value = "";
        files.dispatchEvent(new Event("change"));
      }
      keep();
      grow();
      form.dispatchEvent(new Event("agentroom:said"));
      sent();
    } catch (error) {
      problem.hidden = false;
      problem.querySelector("span").textContent = whyNot(error);
      // Under its id something else was stored: these words need one of their own.
      if (error.status === 409) {
        id.value = fresh();
        tried = null;
      }
      keep();
    } finally {
      button.ariaBusy = null;
    }
  });
  grow();
}
