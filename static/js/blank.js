// The way to blank a message, on what arrived while the page was open. The server asks again who presses it.
const timeline = document.getElementById("timeline");

function may(entry, me) {
  if ("blanked" in entry.dataset && !entry.querySelector(".card")) return false;
  const owners = [...entry.querySelectorAll(".card.turn")].map((card) => card.dataset.owner);
  return "mine" in timeline.dataset || [entry.dataset.author, ...owners].includes(me);
}

export function offerBlanks() {
  const me = document.body.dataset.me;
  for (const entry of timeline.querySelectorAll(".entry")) {
    const header = entry.querySelector(":scope > header");
    if (header.querySelector(".blank") || !may(entry, me)) continue;
    const link = document.createElement("a");
    link.className = "when blank";
    link.href = `/rooms/${timeline.dataset.room}/blank/${entry.dataset.seq}/`;
    link.ariaLabel = `Blank something of ${entry.dataset.author}’s message`;
    link.textContent = "Blank";
    header.append(" ", link);
  }
}
