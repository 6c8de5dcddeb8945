// The npm package, installed from what is published.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

const web = join(import.meta.dirname, "..");

test("the package works where it is installed", () => {
  const folder = mkdtempSync(join(tmpdir(), "ptx-tc-"));
  const npm = (...words) => execFileSync("npm", words, { cwd: folder, encoding: "utf8" });
  const packed = JSON.parse(npm("pack", join(web, "package-dist"), "--json", "--loglevel", "error"))[0];
  writeFileSync(join(folder, "package.json"), '{"private": true, "type": "module"}');
  npm("install", "--no-audit", "--no-fund", "--offline", `./${packed.filename}`);
  writeFileSync(
    join(folder, "use.mjs"),
    `import { readFileSync } from "node:fs";
     import { check, decode, draw, encode, explain, load, simulate, version } from "ptx-tc";
     await load();
     const text = readFileSync(process.argv[2], "utf8");
     let refused;
     try { decode("idesc", "0x0", "kind=none"); } catch (error) { refused = error.message; }
     console.log(JSON.stringify({
       version: version(),
       clean: check("gemm.ptx", text).length,
       found: check("k.cu", 'asm("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 48;" :: "r"(t));').map((it) => it.code),
       word: encode("idesc", "kind=f16", "dtype=f32", "a=bf16", "b=bf16", "m=128", "n=256").word,
       drawn: draw("ld", "16x256b", "x1").svg.startsWith("<svg"),
       explained: explain("TC301").length > 100,
       verdict: simulate(text, "gemm").document.kernels[0].verdict,
       refused,
     }));`,
  );
  const gemm = join(web, "../docs/simulation/gemm.ptx");
  const said = JSON.parse(execFileSync("node", ["use.mjs", gemm], { cwd: folder, encoding: "utf8" }));
  const { version } = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));
  assert.deepEqual(said, {
    version,
    clean: 0,
    found: ["TC301"],
    word: "0x08400490",
    drawn: true,
    explained: true,
    verdict: "clean",
    refused: "`kind` cannot be `none`",
  });
});
