// Whoever answers one question after another keeps the next one in view, and answers none that they have not seen.

// Milliseconds; shorter than anybody reads. A second press of the key was meant for the question before.
const UNREAD = 600;
const seenAt = new Map();
let answering = null;
let last = "";

const formsOf = (root) => root.querySelectorAll("form.decides");

// Remember when each question came to the page.
export function noteQuestions(at = performance.now()) {
  for (const form of formsOf(document)) if (!seenAt.has(form.action)) seenAt.set(form.action, at);
}

const wholly = (box) => box.top >= 64 && box.bottom <= innerHeight - 64;

// After an answer: bring the next open question of the same turn into view, or of the same page.
export function showNext() {
  if (!answering) return;
  const { keyboard } = answering;
  const group = document.getElementById(answering.group);
  const held = document.activeElement;
  if (!group || (held && held !== document.body && !group.contains(held))) return leave();
  const form = [...formsOf(group)].find((other) => other.action !== answering.action);
  if (!form) return;
  answering = null;
  const card = form.closest(".card");
  if (!wholly(card.getBoundingClientRect())) card.scrollIntoView({ block: "nearest" });
  if (!keyboard) return;
  // What cannot be taken back is read before its button has the focus.
  const first = card.dataset.state === "danger" ? card.querySelector(".command") : form.querySelector("button");
  first?.focus({ preventScroll: true, focusVisible: true });
  seenAt.set(form.action, performance.now());
}

function refuse(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function leave() {
  answering = null;
}

export function followQuestions() {
  noteQuestions(-Infinity);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.decides")) return;
    const keyboard = event.submitter?.matches(":focus-visible") ?? false;
    const unread = performance.now() - (seenAt.get(form.action) ?? -Infinity) < UNREAD;
    if (keyboard && unread && last && last !== form.action) return refuse(event);
    last = form.action;
    const group = form.closest(".turn-group");
    if (group) answering = { group: group.id, action: form.action, keyboard };
  }, { capture: true });
  // The second half of a double click, or a key that is held, answers no other question.
  document.addEventListener("click", (event) => {
    const form = event.target.closest("form.decides");
    if (form && event.detail > 1 && last && last !== form.action) refuse(event);
  }, { capture: true });
  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.target.matches?.("form.decides button")) refuse(event);
  }, { capture: true });
  document.addEventListener("agentroom:refused", leave);
  // Whoever does something else meanwhile is not moved.
  for (const what of ["wheel", "touchmove", "pointerdown", "keydown"]) addEventListener(what, leave, { passive: true });
}

// A decision took the question with its button away: whoever uses the keyboard stays where it stood.
export function keepPlace() {
  if (!answering?.keyboard || document.activeElement !== document.body) return;
  document.getElementById(answering.group)?.querySelector(":scope > .decided > summary")?.focus({ preventScroll: true, focusVisible: true });
}
