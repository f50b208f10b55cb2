// An output, and earlier steps, are fetched when somebody asks for them.
import { localise } from "./local.js";
import { fetched } from "./piece.js";

async function piece(url) {
  const reply = await fetched(url);
  const parsed = new DOMParser().parseFromString(await reply.text(), "text/html");
  localise(parsed.body);
  return parsed.body;
}

async function toggleOutput(link) {
  const row = link.closest("li");
  const open = row.querySelector(":scope > .fetched");
  if (open) {
    open.remove();
    link.ariaExpanded = "false";
    return;
  }
  const box = document.createElement("div");
  box.className = "fetched";
  box.append(...(await piece(link.href)).childNodes);
  row.append(box);
  link.ariaExpanded = "true";
}

async function moreSteps(link) {
  const list = document.getElementById(link.dataset.steps);
  const first = list.querySelector("li[data-seq]")?.dataset.seq;
  const url = new URL(link.href);
  if (first) url.searchParams.set("before", first);
  const body = await piece(url);
  list.dataset.expanded = "";
  list.prepend(...body.querySelectorAll(".steps > li"));
  if (!body.querySelector("[data-steps]")) link.closest(".earlier-steps").remove();
}

export function openOutputs() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-output], a[data-steps]");
    if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    if (link.dataset.steps !== undefined && !document.getElementById(link.dataset.steps)) return;
    event.preventDefault();
    if (link.ariaBusy === "true") return;
    link.ariaBusy = "true";
    const done = link.dataset.steps === undefined ? toggleOutput(link) : moreSteps(link);
    done.catch(() => { location.href = link.href; }).finally(() => { link.ariaBusy = null; });
  });
}
