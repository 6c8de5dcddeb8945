// The built page in headless Chromium, served from this machine.

import { createReadStream, existsSync, statSync } from "node:fs";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";
import { chromium } from "playwright-core";

const dist = join(import.meta.dirname, "../dist");
const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
};

/** A server of the built page. */
export async function serve() {
  const requests = [];
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://host").pathname));
    requests.push(path);
    const file = join(dist, path.endsWith("/") ? `${path}index.html` : path);
    if (!file.startsWith(dist) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(resolve);
    });
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, stop };
}

/** A browser that asks nobody but that server. */
export async function browse(options = {}) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  const profile = mkdtempSync(join(tmpdir(), "ptx-tc-"));
  return chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
    viewport: { width: 1400, height: 900 },
    ...options,
  });
}

/** Waits until the text that is shown was checked. */
export async function checked(page) {
  await page.waitForFunction(() => document.querySelector("#status").textContent.startsWith("Checked"), null, {
    timeout: 60_000,
  });
}

/** Replaces the text, as a paste does. */
export async function paste(page, text) {
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+A");
  await page.evaluate((text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    const pasted = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(pasted);
  }, text);
}
