// A sentence about something that just happened; it goes by itself, and is never the only place.
export function toast(text) {
  const line = document.createElement("p");
  line.className = "toast";
  line.textContent = text;
  document.getElementById("toasts").append(line);
  setTimeout(() => line.remove(), 9000);
}
