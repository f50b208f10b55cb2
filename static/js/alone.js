// A question on a page of its own: after an answer the next one that waits takes its place.
let answered = false;

const onward = (url) => location.replace(url);

document.addEventListener("agentroom:sent", (event) => {
  if (!event.detail.decided) return;
  answered = true;
  if (event.detail.next) onward(event.detail.next);
});
document.addEventListener("agentroom:look", () => {
  const next = document.getElementById("next-question");
  if (answered && next) onward(next.href);
});
