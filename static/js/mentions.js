// The list of members behind an @, chosen by keyboard or by hand.

const WORD = /(^|[\s(])@([a-z0-9_-]*)$/i;

function members() {
  return [...document.querySelectorAll("#people li[id^=seat]")].map((row) => ({
    handle: row.querySelector(".who > :is(a, strong)").textContent.trim(),
    agent: row.querySelector(".avatar.agent, .avatar-picture") !== null || row.querySelector(".who > a") !== null,
    about: row.querySelector(".who > .soft")?.textContent.split(" · ")[0].trim() ?? "",
    status: row.querySelector(".who > .status"),
  }));
}

export function mentions(text) {
  const list = document.getElementById("mention-list");
  let chosen = 0;
  let shown = [];

  function close() {
    list.hidden = true;
    shown = [];
    text.removeAttribute("aria-activedescendant");
  }

  function mark() {
    [...list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === chosen)));
    text.setAttribute("aria-activedescendant", list.children[chosen].id);
    list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  function open() {
    const before = text.value.slice(0, text.selectionStart);
    const word = before.match(WORD)?.[2]?.toLowerCase();
    if (word === undefined) return close();
    const me = document.body.dataset.me;
    shown = members()
      .filter((member) => member.handle !== me && member.handle.toLowerCase().startsWith(word))
      .sort((a, b) => Number(b.agent) - Number(a.agent))
      .slice(0, 8);
    if (!shown.length) return close();
    chosen = 0;
    list.replaceChildren(...shown.map((member) => {
      const row = document.createElement("li");
      row.id = `mention-${member.handle}`;
      row.role = "option";
      const name = document.createElement("strong");
      name.textContent = member.handle;
      const about = document.createElement("span");
      about.className = "soft";
      about.textContent = member.about;
      row.append(name, about);
      if (member.status) row.append(member.status.cloneNode(true));
      row.addEventListener("pointerdown", (event) => { event.preventDefault(); take(member); });
      return row;
    }));
    list.hidden = false;
    mark();
  }

  function take(member) {
    const end = text.selectionStart;
    const start = text.value.slice(0, end).lastIndexOf("@");
    text.setRangeText(`@${member.handle} `, start, end, "end");
    close();
    text.dispatchEvent(new Event("input"));
    text.focus();
  }

  text.addEventListener("input", open);
  text.addEventListener("blur", () => setTimeout(close, 100));

  return {
    // Whether the list took the key.
    key(event) {
      if (list.hidden || !shown.length) return false;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        chosen = (chosen + (event.key === "ArrowDown" ? 1 : shown.length - 1)) % shown.length;
        mark();
      } else if ((event.key === "Enter" && !event.ctrlKey && !event.metaKey) || event.key === "Tab") take(shown[chosen]);
      else if (event.key === "Escape") close();
      else return false;
      event.preventDefault();
      return true;
    },
  };
}
