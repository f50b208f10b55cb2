// Instants in the reader's own zone, and the reader's own handle as "you".

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const weekday = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long" });
const weekdayAndYear = new Intl.DateTimeFormat("en", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
const short = new Intl.DateTimeFormat("en", { day: "numeric", month: "short" });
const whole = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long" });

const sameDay = (a, b) => a.toDateString() === b.toDateString();

export function dayOf(at) {
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (sameDay(at, today)) return "Today";
  if (sameDay(at, yesterday)) return "Yesterday";
  return (at.getFullYear() === today.getFullYear() ? weekday : weekdayAndYear).format(at);
}

function ago(at) {
  const seconds = (Date.now() - at) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  return sameDay(at, new Date()) ? clock.format(at) : `${short.format(at)}, ${clock.format(at)}`;
}

const forms = {
  time: (at) => clock.format(at),
  day: dayOf,
  both: (at) => (sameDay(at, new Date()) ? clock.format(at) : `${short.format(at)}, ${clock.format(at)}`),
  ago,
};

export function localise(root) {
  for (const time of root.querySelectorAll("time[data-form]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.textContent = forms[time.dataset.form](at);
    time.title = `${whole.format(at)}, ${zone}`;
  }
  const me = document.body.dataset.me;
  if (!me) return;
  for (const name of root.querySelectorAll(`[data-handle="${CSS.escape(me)}"]`)) {
    if (name.classList.contains("mention")) name.classList.add("you");
    else name.textContent = "you";
  }
}

function words(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}

// Durations that go on: since an instant, or until one. The page's clock may be off; it never shows less than 0.
export function countTime() {
  const tick = () => {
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-since]")) {
      time.textContent = words((now - new Date(time.dataset.since)) / 1000);
    }
    for (const time of document.querySelectorAll("time[data-until]")) {
      time.textContent = words((new Date(time.dateTime) - now) / 1000);
    }
  };
  tick();
  setInterval(tick, 1000);
}
