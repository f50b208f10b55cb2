// Changes the page part by part, and keeps what the reader had open, focused or typed.
import { localise } from "./local.js";

const typed = new Map();

export function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  localise(template.content);
  return template.content;
}

export function remember(old) {
  const open = [...old.querySelectorAll("details[open][id]")].map((details) => details.id);
  if (old.matches?.("details[open][id]")) open.push(old.id);
  for (const field of old.querySelectorAll("textarea[id], input[type=text][id], input[type=date][id], select[id]")) {
    const changed = field.matches("select") ? field.selectedIndex > 0 : field.value !== field.defaultValue;
    if (changed) typed.set(field.id, field.value);
  }
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  return { open, focused: focused && { ...nameOf(focused), visible: focused.matches(":focus-visible") } };
}

// What tells a part from its neighbours, in what is drawn next.
function nameOf(part) {
  return {
    id: part.id, name: part.name, value: part.value, form: part.form?.action, href: part.getAttribute("href"),
    fold: part.matches("summary") ? part.parentElement.id : "",
  };
}

export function restore(fresh, { open, focused }) {
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  for (const [id, value] of typed) {
    const field = document.getElementById(id);
    if (!field || !fresh.contains(field)) continue;
    field.value = value;
    typed.delete(id);
  }
  if (!focused) return;
  const same = (part) => {
    const name = nameOf(part);
    return Object.keys(name).every((key) => name[key] === focused[key]);
  };
  const again = focused.id
    ? document.getElementById(focused.id)
    : [...fresh.querySelectorAll("a, button, input, textarea, select, summary")].find(same);
  again?.focus({ preventScroll: true, focusVisible: focused.visible });
}

export function replace(old, fresh) {
  const kept = remember(old);
  old.replaceWith(fresh);
  restore(fresh, kept);
}

// Into a list by number, so that what comes twice or late stands where it belongs.
export function insert(target, fresh) {
  const seq = Number(fresh.dataset.seq);
  const after = Number.isNaN(seq)
    ? null
    : [...target.children].findLast((child) => child.dataset.seq && Number(child.dataset.seq) < seq);
  if (after) after.after(fresh);
  else if (!Number.isNaN(seq) && target.querySelector(":scope > [data-seq]")) target.prepend(fresh);
  else target.append(fresh);
}

// Returns the element when it is new on the page.
export function apply(part) {
  const fresh = parse(part.html).firstElementChild;
  if (!fresh) return null;
  const old = document.getElementById(part.id);
  const target = part.mode === "append" ? document.getElementById(part.target) : null;
  if (old && (!target || old.parentElement === target)) {
    replace(old, fresh);
    return null;
  }
  if (!target) return null;
  // What stood elsewhere moves: a question that was decided goes into the fold.
  old?.remove();
  insert(target, fresh);
  prune(target);
  return fresh;
}

function prune(list) {
  const keep = Number(list.dataset.keep);
  if (!keep || "expanded" in list.dataset || list.children.length <= keep) return;
  while (list.children.length > keep) list.firstElementChild.remove();
  if (list.parentElement.querySelector(":scope > .earlier-steps")) return;
  const line = document.createElement("p");
  line.className = "small earlier-steps";
  const link = document.createElement("a");
  link.href = list.dataset.more;
  link.dataset.steps = list.id;
  link.textContent = list.dataset.earlier ?? "Earlier steps";
  line.append(link);
  list.before(line);
}
