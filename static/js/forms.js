// Forms marked data-post are sent without leaving the page; the socket brings what came of it.
import { look } from "./me.js";
import { toast } from "./toast.js";

export async function send(url, body) {
  const reply = await fetch(url, {
    method: "POST",
    body,
    credentials: "same-origin",
    headers: { "X-Requested-With": "fetch", Accept: "application/json" },
  });
  const isJson = reply.headers.get("Content-Type")?.includes("json");
  const answer = isJson ? await reply.json() : {};
  if (!reply.ok) {
    const problem = new Error(answer.detail || answer.title || "The server did not answer.");
    problem.status = reply.status;
    problem.signIn = answer.sign_in;
    throw problem;
  }
  return answer;
}

export function postForms() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-post]")) return;
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    const button = event.submitter;
    if (button) button.ariaBusy = "true";
    try {
      const answer = await send(form.action, new FormData(form, button));
      // The form may have left the page by now: what it asked is decided.
      (form.isConnected ? form : document).dispatchEvent(
        new CustomEvent("agentroom:sent", { bubbles: true, detail: { ...answer, decided: form.matches(".decides") } }),
      );
      look().catch(() => {});
    } catch (problem) {
      if (problem.signIn) return location.assign(problem.signIn);
      toast(problem.status ? problem.message : "The server did not answer. Whether this arrived is not known; look before you try again.");
      if (problem.status) form.dispatchEvent(new CustomEvent("agentroom:refused", { bubbles: true }));
    } finally {
      form.ariaBusy = null;
      if (button) button.ariaBusy = null;
    }
  });
}
