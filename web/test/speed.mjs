// How long a key takes in a module of 1 MB, beside the whole check by the program: `node test/speed.mjs PROGRAM`.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { browse, checked, paste, serve } from "./page.mjs";

const program = process.argv[2];
if (!program) {
  console.error("usage: node test/speed.mjs PROGRAM");
  process.exit(2);
}

const ROUNDS = 15;
const median = (numbers) => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)];

// As many kernels of the documentation as fill it.
const gemm = readFileSync(join(import.meta.dirname, "../../docs/simulation/gemm.ptx"), "utf8");
const [head, body] = [gemm.slice(0, gemm.indexOf(".extern")), gemm.slice(gemm.indexOf(".visible"))];
let text = head + ".extern .shared .align 1024 .b8 tiles[];\n";
for (let at = 0; text.length < 1_000_000; at += 1) text += body.replace(".entry gemm(", `.entry gemm${at}(`);
const file = join(mkdtempSync(join(tmpdir(), "ptx-tc-")), "kernel.ptx");
writeFileSync(file, text);

const native = [];
for (let round = 0; round < ROUNDS; round += 1) {
  const start = process.hrtime.bigint();
  const { status } = spawnSync(program, ["check", "--quiet", file]);
  if (status !== 0 && status !== 1) throw new Error(`${program}: ${status}`);
  native.push(Number(process.hrtime.bigint() - start) / 1e6);
}

const server = await serve();
const context = await browse();
const page = await context.newPage();
await page.goto(server.url);
await checked(page);
await paste(page, text);
await page.waitForTimeout(3000);
await page.keyboard.press("Control+Home");
for (let line = 0; line < 30; line += 1) await page.keyboard.press("ArrowDown");
await page.keyboard.press("End");
const keys = [];
for (let round = 0; round < ROUNDS; round += 1) {
  // From the key to the findings of the new text.
  await page.evaluate(() => {
    let start;
    addEventListener("keydown", () => (start = performance.now()), { once: true, capture: true });
    window.waited = new Promise((resolve) => {
      const observer = new MutationObserver(() => {
        observer.disconnect();
        resolve(performance.now() - start);
      });
      observer.observe(document.querySelector("#status"), { attributes: true });
    });
  });
  await page.keyboard.press("/");
  keys.push(await page.evaluate(() => window.waited));
  await page.waitForTimeout(300);
}
await context.close();
await server.stop();
const [whole, key] = [median(native), median(keys)];
console.log(
  `whole check by the program: ${whole.toFixed(0)} ms; a key: ${key.toFixed(0)} ms, ${(key / whole).toFixed(2)} of it`,
);
