// The built extension with the real language client and the real server, in an editor that is none.

const assert = require("node:assert");
const Module = require("node:module");
const { readFileSync } = require("node:fs");
const { resolve } = require("node:path");
const { test } = require("node:test");

const fake = require("./vscode.js");

const TEXT = `.version 9.0
.target sm_100a
.entry k() {
  .reg .b32 %r<4>;
  tcgen05.wait::ld.sync;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 48;
}
`;

const CUDA = `__device__ void alloc(unsigned slot) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" :: "r"(slot), "n"(48) : "memory");
}
`;

function load(settings, { uri = "file:///project/kernel.ptx", languageId = "ptx", text = TEXT } = {}) {
  const document = {
    uri: new (fake([], {}).module.Uri)(uri),
    languageId,
    version: 1,
    isClosed: false,
    getText: () => text,
    save: async () => true,
  };
  const { module, seen } = fake([document], settings);
  const original = Module._load;
  Module._load = (request, ...rest) => (request === "vscode" ? module : original(request, ...rest));
  try {
    const path = require.resolve("../dist/extension.js");
    delete require.cache[path];
    return { extension: require(path), document, seen, module };
  } finally {
    Module._load = original;
  }
}

async function eventually(condition, message) {
  for (let tries = 0; tries < 500; tries++) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(message());
}

const binary = process.env.PTX_TC;

test("findings arrive, hover explains, and the server ends", async () => {
  const settings = { "ptx-tc": { path: binary, severity: { TC301: "warning" } } };
  const { extension, document, seen, module } = load(settings);
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual(seen.errors, []);
  assert.ok(seen.commands.includes("ptx-tc.restart"), String(seen.commands));

  const uri = document.uri.toString();
  await eventually(() => seen.diagnostics.get(uri)?.length, () => "no findings");
  const found = seen.diagnostics.get(uri).map((it) => [it.code?.value ?? it.code, it.severity]);
  assert.deepStrictEqual(found, [["TC104", 0], ["TC301", 1]]);

  const token = new module.CancellationTokenSource().token;
  const provider = seen.providers.registerHoverProvider;
  const hover = await provider.provideHover(document, new module.Position(4, 6), token);
  assert.match(hover.contents[0]?.value ?? hover.contents.value, /tcgen05\.wait::ld/);
  await extension.deactivate();
});

test("findings in CUDA arrive", async () => {
  const file = { uri: "file:///project/kernel.cu", languageId: "cuda-cpp", text: CUDA };
  const { extension, document, seen } = load({ "ptx-tc": { path: binary } }, file);
  await extension.activate({ subscriptions: [] });
  const uri = document.uri.toString();
  await eventually(() => seen.diagnostics.get(uri)?.length, () => "no findings");
  const [finding] = seen.diagnostics.get(uri);
  assert.strictEqual(finding.code?.value ?? finding.code, "TC301");
  const start = CUDA.split("\n")[1].indexOf("48");
  assert.deepStrictEqual([finding.range.start.line, finding.range.start.character], [1, start]);
  await extension.deactivate();
});

test("a kernel is run from above it", async (t) => {
  const path = resolve(__dirname, "../../../docs/simulation/hang.ptx");
  const file = { uri: `file://${path}`, text: readFileSync(path, "utf8") };
  const { extension, document, seen, module } = load({ "ptx-tc": { path: binary } }, file);
  await extension.activate({ subscriptions: [] });
  // A server that still runs would keep the test from its end.
  t.after(() => extension.deactivate());
  const token = new module.CancellationTokenSource().token;
  const provider = seen.providers.registerCodeLensProvider;
  const lenses = await provider.provideCodeLenses(document, token);
  assert.deepStrictEqual(lenses.map((it) => it.command.title), ["simulate", "simulate with gemm.toml"]);
  const { command } = lenses[1];
  const ran = await seen.handlers[command.command](...command.arguments);
  assert.strictEqual(ran.summary, "1 finding (deadlock)", JSON.stringify(ran));
  const uri = document.uri.toString();
  const codes = () => (seen.diagnostics.get(uri) ?? []).map((it) => it.code?.value ?? it.code);
  await eventually(() => codes().includes("SIM101"), () => `not found: ${codes()}`);
  const [, verdict] = await provider.provideCodeLenses(document, token);
  assert.strictEqual(verdict.command.title, "gemm.toml: 1 finding (deadlock)");

  await seen.handlers["ptx-tc.simulateInTerminal"]();
  const [{ execution }] = seen.tasks;
  assert.deepStrictEqual([execution.process, execution.args], [binary, ["simulate", "--timeline", path]]);
});

test("a missing program is said", async () => {
  const { extension, seen } = load({ "ptx-tc": { path: "/no/such/program" } });
  await extension.activate({ subscriptions: [] });
  assert.match(seen.errors.join("\n"), /cannot start `\/no\/such\/program lsp`/);
});
