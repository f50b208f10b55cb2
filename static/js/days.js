// Days as the reader's own calendar has them.
import { dayOf } from "./local.js";

export function drawDays(list) {
  for (const day of list.querySelectorAll(":scope > .day")) day.remove();
  let last = "";
  for (const entry of list.querySelectorAll(":scope > [data-at]")) {
    const at = new Date(entry.dataset.at);
    const day = at.toDateString();
    if (day !== last) {
      const line = document.createElement("li");
      line.className = "day";
      const title = document.createElement("h2");
      const time = document.createElement("time");
      time.dateTime = entry.dataset.at;
      time.textContent = dayOf(at);
      title.append(time);
      line.append(title);
      const before = entry.previousElementSibling;
      (before?.classList.contains("last-read") ? before : entry).before(line);
    }
    last = day;
  }
}
