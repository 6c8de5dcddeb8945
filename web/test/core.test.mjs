// The WebAssembly by itself, in Node.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { gzipSync } from "node:zlib";

import * as core from "../src/wasm/ptx_tc_web.js";

const web = join(import.meta.dirname, "..");
const dist = join(web, "dist");
core.initSync({ module: readFileSync(join(web, "src/wasm/ptx_tc_web_bg.wasm")) });

const FILES = { ptx: "kernel.ptx", cuda: "kernel.cu", python: "kernel.py", rust: "kernel.rs", llvm: "kernel.ll" };

function codes(text, language, rules) {
  const editor = new core.Editor("{}", `file:///${FILES[language]}`, text);
  editor.set_rules(rules);
  const found = JSON.parse(editor.check()).map((it) => it.code);
  editor.free();
  return found;
}

test("the example of each rule shows the rule", () => {
  const examples = readdirSync(join(dist, "examples"));
  const silent = [];
  let [checked, ran] = [0, 0];
  for (const name of examples) {
    const code = name.slice(0, -".json".length);
    const { text, language, pane, rules = "" } = JSON.parse(readFileSync(join(dist, "examples", name), "utf8"));
    if (pane === "run") {
      const runner = new core.Runner("kernel.ptx", text);
      const kernel = /\.entry\s+(\w+)/.exec(text)[1];
      const { document } = JSON.parse(
        runner.run(kernel, "", JSON.stringify({ rules: rules.split(" ").filter(Boolean) })),
      );
      const found = document.kernels[0].diagnostics.map((it) => it.code);
      if (!found.includes(code)) silent.push(code);
      ran += 1;
    } else {
      const found = codes(text, language, rules);
      if (!found.includes(code)) silent.push(code);
      checked += 1;
    }
  }
  assert.deepEqual(silent, []);
  assert.ok(checked > 120 && ran > 20, `${checked} and ${ran}`);
});

test("every rule has an explanation, and what is no rule has none", () => {
  assert.match(core.explain("TC301"), /power/);
  assert.match(core.explain("ncols-invalid"), /power/);
  assert.equal(core.explain("TC000"), undefined);
});

test("words that make no sense are refused with their place", () => {
  const { error } = JSON.parse(core.decode("idesc", "0x08200490", "kind=f61"));
  assert.match(error.message, /`kind` cannot be `f61`/);
  assert.equal(error.text.slice(...error.labels[0].span), "f61");
  assert.match(JSON.parse(core.draw("", "")).error.message, /nothing to draw/);
  assert.match(JSON.parse(core.draw("ld", "16x256b x3")).error.message, /x3/);
  assert.throws(() => core.decode("none", "0", ""), /there is no descriptor `none`/);
});

test("a descriptor is the same word on both ways", () => {
  for (const [name, word, context] of [
    ["idesc", "0x08200490", "kind=f16"],
    ["smem", "0x4000404000010040", ""],
    ["zero-mask", "0x0003028000000000", "m=128 n=64"],
  ]) {
    const decoded = JSON.parse(core.decode(name, word, context));
    assert.equal(decoded.valid, true);
    assert.equal(decoded.forms.length, decoded.fields.length);
    const fields = decoded.fields.filter((_, at) => !decoded.forms[at].is_fixed);
    const words = fields.map((it) => `${it.name}=${it.value}`).join(" ");
    assert.equal(JSON.parse(core.encode(name, false, `${words} ${context}`)).word, word);
  }
});

test("a launch file that is wrong is refused in its words", () => {
  const text = readFileSync(join(web, "../docs/simulation/gemm.ptx"), "utf8");
  const runner = new core.Runner("gemm.ptx", text);
  assert.throws(() => runner.run("gemm", "grid = [", "{}"), /line 1 of the launch/);
  assert.throws(() => runner.run("gemm", "grid = [0]", "{}"), /cannot be launched like this.*`grid/);
  assert.throws(() => runner.run("gem", "", "{}"), /no kernel `gem`/);
  assert.throws(() => new core.Runner("a.ptx", "int main() {}"), /line 1 is no PTX/);
  assert.throws(() => new core.Runner("a.ptx", ".version 9.0\n.target sm_100a\n"), /no kernel/);
  const template = runner.template("gemm");
  assert.match(template, /\[\[arg\]\]/);
});

test("what is needed to check is small", () => {
  const assets = readdirSync(join(dist, "assets")).map((name) => join(dist, "assets", name));
  const sizes = [...assets, join(dist, "index.html")].map((path) => gzipSync(readFileSync(path), { level: 9 }).length);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(total < 3_000_000, `${total} bytes compressed`);
});
