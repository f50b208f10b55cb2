// A socket that comes back. The server speaks at least every 15 s; 40 s of silence means that it is dead.
const SILENCE = 40_000;
const LONGEST_WAIT = 15_000;

export function keepOpen({ url, receive, opened = () => {}, state = () => {}, refused = () => {} }) {
  let socket = null;
  let tries = 0;
  let timer = null;
  let heardAt = 0;
  let wasOpen = false;
  let ended = false;

  function connect() {
    clearTimeout(timer);
    timer = null;
    if (ended) return;
    const address = new URL(url(), location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const own = (socket = new WebSocket(address));
    heardAt = Date.now();
    own.onopen = () => {
      if (own !== socket) return;
      heardAt = Date.now();
      tries = 0;
      state("open");
      opened(wasOpen);
      wasOpen = true;
    };
    own.onmessage = (event) => {
      if (own !== socket) return;
      heardAt = Date.now();
      receive(JSON.parse(event.data));
    };
    own.onclose = () => { if (own === socket) lost(); };
  }

  function lost() {
    socket = null;
    if (ended) return;
    // Refused again and again: perhaps not the network, but the right to read has ended.
    if (tries % 3 === 2) refused();
    state(navigator.onLine ? "reconnecting" : "offline");
    const wait = Math.min(LONGEST_WAIT, 400 * 2 ** tries++) * (0.5 + Math.random());
    timer = setTimeout(connect, wait);
  }

  function drop() {
    const old = socket;
    lost();
    old?.close();
  }

  function check() {
    if (socket && Date.now() - heardAt > SILENCE) drop();
    else if (!socket && !ended) connect();
  }

  setInterval(() => { if (socket && Date.now() - heardAt > SILENCE) drop(); }, 5_000);
  addEventListener("online", check);
  addEventListener("offline", () => { if (socket) drop(); });
  addEventListener("pageshow", (event) => { if (event.persisted) drop(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) check(); });
  connect();

  return {
    send: (message) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); },
    end: () => { ended = true; clearTimeout(timer); socket?.close(); },
  };
}
