// Whoever answers one question after another keeps the next one in view, and answers none that they have not seen.

// Shorter than anybody reads: a second press of the same key or button, meant for the question before.
const UNREAD = 600;
const seenAt = new Map();
let answering = null;

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
}

function leave() {
  answering = null;
}

export function followQuestions() {
  noteQuestions(-Infinity);
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.decides")) return;
    if (performance.now() - (seenAt.get(form.action) ?? -Infinity) < UNREAD) {
      event.preventDefault();
      event.stopImmediatePropagation();
      return;
    }
    const group = form.closest(".turn-group");
    if (group) answering = { group: group.id, action: form.action, keyboard: event.submitter?.matches(":focus-visible") ?? false };
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
