// Keeps what the page needs. The build writes which files those are, and a version that changes with them.

const CACHE = `ptx-tc-${"VERSION"}`;
const NEEDED = ["NEEDED"];

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(NEEDED))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  const old = (name) => name.startsWith("ptx-tc-") && name !== CACHE;
  // Pages that are open load parts of the version before.
  event.waitUntil(
    caches
      .keys()
      .then((names) =>
        Promise.all(
          names
            .filter(old)
            .slice(0, -1)
            .map((name) => caches.delete(name)),
        ),
      )
      .then(() => self.clients.claim()),
  );
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== self.location.origin) return;
  event.respondWith(answer(request));
});

async function answer(request) {
  // The page itself is new whenever it can be: it names the files that belong to it.
  if (request.mode === "navigate") {
    try {
      return await fetch(request);
    } catch {
      return (await caches.match("./", { ignoreSearch: true })) ?? Response.error();
    }
  }
  const kept = await caches.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  // Examples of rules, once they were looked at.
  if (answer.ok) {
    const cache = await caches.open(CACHE);
    await cache.put(request, answer.clone());
  }
  return answer;
}
