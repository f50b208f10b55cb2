// Fetches what the server draws. Whoever was signed out is led to the sign-in page: that is no answer.
const PATIENCE = 30_000;

export class Refused extends Error {
  constructor(status) {
    super(`${status}`);
    this.status = status;
  }
}

export async function fetched(url) {
  const reply = await fetch(url, {
    headers: { "X-Requested-With": "fetch" }, credentials: "same-origin", signal: AbortSignal.timeout(PATIENCE),
  });
  if (reply.redirected || !reply.ok) throw new Refused(reply.redirected ? 401 : reply.status);
  return reply;
}

// Whether to ask once more is worth it: the network or the server may be better in a while.
export const mayPass = (problem) => !problem.status || problem.status >= 500 || problem.status === 429;

// A socket that is refused again and again: perhaps the right to read this page has ended, or the session.
export async function stillMine() {
  try {
    const reply = await fetch(location.pathname, { method: "HEAD", credentials: "same-origin" });
    if (reply.status === 404 || reply.redirected) location.reload();
  } catch { /* it is the network after all */ }
}
