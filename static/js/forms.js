// Forms marked data-post are sent without leaving the page; the socket brings what came of it.
import { look } from "./me.js";
import { toast } from "./toast.js";

// Milliseconds in which an answer is waited for; what carries files may take its time.
const PATIENCE = 45_000;
const PATIENCE_WITH_FILES = 900_000;
const UNSAID = {
  403: "This page is too old. Reload it and try again.",
  413: "It is larger than this server takes.",
};

export async function send(url, body) {
  const files = [...body.values()].some((value) => value instanceof File && value.size > 0);
  const reply = await fetch(url, {
    method: "POST",
    body,
    credentials: "same-origin",
    headers: { "X-Requested-With": "fetch", Accept: "application/json" },
    signal: AbortSignal.timeout(files ? PATIENCE_WITH_FILES : PATIENCE),
  });
  // Nothing that is sent so leads elsewhere: this is the sign-in page.
  if (reply.redirected) {
    const problem = new Error("You are signed out here. Reload this page to sign in.");
    problem.status = 401;
    throw problem;
  }
  const isJson = reply.headers.get("Content-Type")?.includes("json");
  const answer = isJson ? await reply.json() : {};
  if (!reply.ok) {
    const problem = new Error(answer.detail || answer.title || UNSAID[reply.status] || `The server failed (${reply.status}).`);
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
