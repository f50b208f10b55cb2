// Which message of the account's chat the composer answers. An answer keeps the topic of what it answers.
export function answering(form, seq, topic) {
  form.elements.reply_to.value = seq ?? "";
  const line = document.getElementById("answering");
  line.hidden = !seq;
  document.getElementById("about-what").hidden = Boolean(seq);
  if (!seq) return;
  line.querySelector("b").textContent = seq;
  line.querySelector("strong").textContent = topic;
}

// What a draft keeps of it.
export function aboutWhat(form) {
  const seq = form.elements.reply_to.value;
  return { topic: form.elements.topic.value, reply_to: seq, of: seq ? document.querySelector("#answering strong").textContent : "" };
}
