// ptx-tc for JavaScript: the checker, descriptors, pictures and the simulator, as WebAssembly.

import init, * as core from "./ptx_tc_web.js";

let ready;

/** Loads the WebAssembly. All else waits for that. */
export function load() {
  ready ??= start();
  return ready;
}

async function start() {
  const url = new URL("./ptx_tc_web_bg.wasm", import.meta.url);
  if (url.protocol !== "file:") {
    await init({ module_or_path: url });
    return;
  }
  const { readFile } = await import("node:fs/promises");
  await init({ module_or_path: await readFile(url) });
}

/** What is found in a text. The end of the file's name says which language it is. */
export function check(file, text, { targets = [], rules = [] } = {}) {
  const editor = new core.Editor("{}", `file:///${encodeURIComponent(file)}`, text);
  try {
    editor.set_targets(targets.join(" "));
    editor.set_rules(rules.join(" "));
    return JSON.parse(editor.check());
  } finally {
    editor.free();
  }
}

/** Runs a kernel, as a launch file says or under assumed launches. */
export function simulate(text, kernel, { launch = "", ...options } = {}) {
  const runner = new core.Runner("kernel.ptx", text);
  try {
    return JSON.parse(runner.run(kernel, launch, JSON.stringify(options)));
  } finally {
    runner.free();
  }
}

const answer = (text) => {
  const document = JSON.parse(text);
  if (document.error) throw Object.assign(new Error(document.error.message), document.error);
  return document;
};

/** The fields of a descriptor's word, and what is wrong with it. */
export const decode = (descriptor, word, ...context) => answer(core.decode(descriptor, word, context.join(" ")));

/** The word that fields make. */
export const encode = (descriptor, ...fields) => answer(core.encode(descriptor, false, fields.join(" ")));

/** A picture, as SVG and as text. */
export const draw = (what, ...words) => answer(core.draw(what, words.join(" ")));

/** What a rule is about, in Markdown; nothing if there is no such rule. */
export const explain = (rule) => core.explain(rule);

/** The version of ptx-tc. */
export const version = () => core.version();
