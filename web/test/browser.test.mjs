// The page in headless Chromium, as somebody uses it.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { browse, checked, paste as pasteInto, serve } from "./page.mjs";

const root = join(import.meta.dirname, "../..");
const axe = readFileSync(join(root, "web/node_modules/axe-core/axe.min.js"), "utf8");

let server, context, page;
const problems = [];

before(async () => {
  server = await serve();
  context = await browse();
  page = await open();
});

after(async () => {
  await context?.close();
  await server?.stop();
});

/** A page of its own, whose problems are kept. */
async function open(hash = "") {
  const page = await context.newPage();
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(`${server.url}${hash}`);
  await checked(page);
  return page;
}

const tab = (name) => page.getByRole("tab", { name });
const findings = () => page.locator("#pane-findings .finding");

const paste = (text) => pasteInto(page, text);

const text = () =>
  page.evaluate(() => [...document.querySelectorAll(".cm-line")].map((line) => line.textContent).join("\n"));

test("findings come while one types, and are repaired", async () => {
  await page.selectOption("#example", "gemm");
  await tab(/Findings/).click();
  await page.waitForFunction(() => document.querySelector("#pane-findings .summary").textContent === "No findings.");
  await paste(
    ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 64;\nret;\n}\n",
  );
  await page.getByText("64;", { exact: false }).first().waitFor();
  await page.locator(".cm-line", { hasText: "dealloc" }).click();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Backspace");
  await page.keyboard.type("48");
  const finding = findings().filter({ hasText: "TC301" });
  await finding.waitFor();
  await finding.getByRole("button", { name: "Use 64 columns" }).click();
  await finding.waitFor({ state: "detached" });
  assert.match(await text(), /aligned\.b32 t, 64;/);
});

test("a rule is explained, and its page is named", async () => {
  await page.selectOption("#example", "kernel");
  const finding = findings().filter({ hasText: "TC301" });
  await finding.getByRole("button", { name: "TC301", exact: true }).click();
  const explanation = page.locator(".explanation");
  await explanation.getByText("powers of two").first().waitFor();
  assert.equal(
    await explanation.getByRole("link").first().getAttribute("href"),
    "https://ptx-tc.github.io/rules/TC301",
  );
});

test("all safe repairs at once", async () => {
  await page.selectOption("#example", "kernel");
  await page.getByRole("button", { name: "Apply safe fixes" }).click();
  await findings().filter({ hasText: "TC102" }).waitFor({ state: "detached" });
  assert.match(await text(), /kind::f16/);
  // What a repair may change is left to whoever reads it.
  assert.match(await text(), /\[slot\], 48;/);
});

test("hover says what an instruction is, with a picture", async () => {
  await page.selectOption("#example", "gemm");
  await page.locator(".cm-line", { hasText: "tcgen05.alloc" }).first().locator(".cm-t-macro").hover();
  await page.locator(".cm-tooltip-hover").waitFor();
  assert.match(await page.locator(".cm-tooltip-hover").textContent(), /alloc/);
});

test("completion offers qualifiers", async () => {
  await paste(".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\n\n}\n");
  await page.locator(".cm-line").nth(4).click();
  await page.keyboard.type("tcgen05.al");
  await page.locator(".cm-tooltip-autocomplete").getByText("alloc").first().waitFor();
  await page.keyboard.press("Escape");
});

test("the workbench goes from word to fields and back", async () => {
  await tab("Descriptors").click();
  await page.selectOption("#descriptor", "idesc");
  await page.fill("#word", "0x08400490");
  await page.waitForFunction(() => document.querySelector("#field-n")?.value === "256");
  await page.fill("#field-n", "128");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => document.querySelector("#word").value === "0x08200490");
  // What makes no sense is refused, and the word is as it was.
  await page.fill("#field-n", "127");
  await page.keyboard.press("Tab");
  await page.locator("#pane-descriptors .refusal", { hasText: "n" }).first().waitFor();
  assert.equal(await page.inputValue("#word"), "0x08200490");
  await page.fill("#word", "0xzz");
  await page.getByText("this is not a word").waitFor();
  await page.selectOption("#descriptor", "smem");
  await page.getByText("Valid (Table").waitFor();
  const drawn = page.locator("#pane-descriptors ptx-picture svg").first();
  await drawn.waitFor();
  assert.match(await page.locator("#pane-descriptors .command").textContent(), /^ptx-tc draw smem 0x4000404000010040/);
});

test("a click on an operand opens its descriptor", async () => {
  await paste(
    ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .pred p;\n.reg .b32 taddr, idesc;\n.reg .b64 adesc, bdesc;\n" +
      "mov.b32 idesc, 0x08400490;\ntcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, idesc, p;\n}\n",
  );
  await tab(/Findings/).click();
  await page.locator(".cm-line", { hasText: "tcgen05.mma" }).getByText("idesc", { exact: true }).click();
  await page.waitForFunction(() => document.querySelector("#word")?.value === "0x08400490");
  assert.equal(await page.inputValue("#fact-kind"), "f16");
  assert.equal(await page.inputValue("#fact-cta-group"), "1");
});

test("a picture of an instruction", async () => {
  await tab("Descriptors").click();
  await page.fill("#picture-words", "ld 16x256b x4");
  await page.keyboard.press("Tab");
  const title = page.locator("#pane-descriptors ptx-picture").last().locator("svg title").first();
  await page.waitForFunction(() => document.querySelector("#pane-descriptors .picture:last-child ptx-picture"));
  assert.match(await title.textContent(), /16x256b/);
});

test("Tensor Memory and barriers of a kernel", async () => {
  await page.selectOption("#example", "gemm");
  await tab("Tensor Memory").click();
  const titles = page.locator("#pane-memory ptx-picture svg > title");
  await titles.nth(1).waitFor({ state: "attached" });
  assert.match(await titles.first().textContent(), /columns of Tensor Memory/);
  assert.match(await titles.nth(1).textContent(), /who arrives and who waits/);
});

test("a run hangs, says where, and is looked at step by step", async () => {
  await page.selectOption("#example", "hang");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const verdict = page.locator(".verdict");
  await verdict.waitFor();
  assert.equal(await verdict.textContent(), "Findings");
  assert.match(
    await page.locator("#pane-run .finding").textContent(),
    /SIM101.*phase 0 of empty: 1 of 2 arrivals missing/s,
  );
  assert.match(await page.locator(".stands").textContent(), /waits for phase/);
  await page.locator("#pane-run ptx-picture svg").first().waitFor();
  const before = await page.locator("output").textContent();
  await page.getByRole("button", { name: "Previous step" }).click();
  assert.notEqual(await page.locator("output").textContent(), before);
  await page.locator("#step").focus();
  await page.keyboard.press("Home");
  assert.match(await page.locator("output").textContent(), /^step 0 of/);
  await page.keyboard.press("End");
  assert.ok((await page.locator(".cm-shown").count()) > 0);
});

test("a correct kernel runs clean, and without a launch several are assumed", async () => {
  await page.selectOption("#example", "gemm");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const verdict = page.locator(".verdict");
  await page.waitForFunction(() => document.querySelector(".verdict")?.textContent === "Clean");
  await page.fill("#launch", "");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await verdict.waitFor({ state: "detached" });
  await verdict.waitFor();
  assert.match(await page.locator("#pane-run").textContent(), /Assumed/);
  await page.fill("#launch", "grid = [0]");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("the kernel cannot be launched like this").waitFor();
});

test("a run belongs to its text", async () => {
  // From a text without kernels, and of one that has the same name.
  await page.selectOption("#example", "cuda");
  await page.selectOption("#example", "hang");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".verdict").waitFor();
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("// One\n// Two\n");
  await page.getByText("The text has changed since this run.").waitFor();
  // The places are where the statements are now.
  await page.locator("#pane-run .finding").getByRole("button", { name: "line 90" }).first().click();
  const line = await page.evaluate(() => document.querySelector(".cm-activeLine").textContent);
  assert.match(line, /mbarrier/);
  assert.equal(
    await page.locator(".cm-activeLineGutter.cm-lineNumbers, .cm-lineNumbers .cm-activeLineGutter").textContent(),
    "92",
  );
  await page.selectOption("#example", "race");
  await page.locator(".verdict").waitFor({ state: "detached" });
  // The launch of a kernel stays with it when it is renamed, and one for another kernel is refused.
  await page.fill("#launch", 'kernel = "other"\n');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("The launch is for other, and gemm is chosen.").waitFor();
});

test("a run of another text is never shown", async () => {
  await paste(
    ".version 9.0\n.target sm_100a\n.entry endless(.param .u64 p) {\n.reg .b64 a;\n.reg .b32 x;\nld.param.u64 a, [p];\nAGAIN:\nadd.u32 x, x, 1;\nst.global.u32 [a], x;\nbra AGAIN;\n}\n",
  );
  await page.fill("#launch", "");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.selectOption("#example", "gemm");
  await page.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.waitForFunction(() => document.querySelector(".verdict")?.textContent === "Clean");
});

test("a repair in the tooltip is a repair", async () => {
  await page.selectOption("#example", "kernel");
  await tab(/Findings/).click();
  await findings().filter({ hasText: "TC703" }).getByRole("button", { name: "Suppress" }).waitFor();
  await page.locator(".cm-lintRange-error").last().hover();
  const tooltip = page.locator(".cm-tooltip-lint");
  await tooltip.waitFor();
  const names = await tooltip.locator(".cm-diagnosticAction").allTextContents();
  assert.deepEqual(names, ["Suppress TC703 here"]);
  // The finding stands above what the instruction is.
  const [lint, hover] = await page.evaluate(() => [
    document.querySelector(".cm-tooltip-lint").getBoundingClientRect().top,
    document.querySelector(".cm-tooltip-hover").getBoundingClientRect().top,
  ]);
  assert.ok(lint - hover < 10, `${lint} ${hover}`);
  await page.mouse.move(5, 5);
});

test("undo does not lead into the text before", async () => {
  await page.selectOption("#example", "cuda");
  await page.selectOption("#example", "gemm");
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+z");
  assert.match(await text(), /C = A \* B/);
});

test("an endless kernel can be stopped, and the page stays alive", async () => {
  await paste(
    ".version 9.0\n.target sm_100a\n.entry k(.param .u64 p) {\n.reg .b64 a;\n.reg .b32 x;\nld.param.u64 a, [p];\nAGAIN:\nadd.u32 x, x, 1;\nst.global.u32 [a], x;\nbra AGAIN;\n}\n",
  );
  await tab("Run").click();
  await page.fill("#launch", "");
  await page.selectOption("#budget", "20000000");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const stop = page.getByRole("button", { name: "Stop" });
  await stop.waitFor();
  await tab(/Findings/).click();
  await tab("Run").click();
  await stop.click();
  await page.getByText("The run was stopped.").waitFor();
  // The next run starts another worker; its budget ends it.
  await page.selectOption("#budget", "200000");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator(".verdict").waitFor({ timeout: 120_000 });
});

test("CUDA and Python are checked where they have PTX", async () => {
  await page.selectOption("#example", "cuda");
  await findings().first().waitFor();
  assert.equal(await page.inputValue("#language"), "cuda");
  await tab("Run").click();
  await page.getByText("There is no kernel to run").waitFor();
  await page.selectOption("#language", "python");
  await paste(
    'asm = """\n.version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48;\n}\n"""\n',
  );
  await tab(/Findings/).click();
  await findings().filter({ hasText: "TC301" }).waitFor();
});

test("a link has the text, and nothing is sent", async () => {
  await page.selectOption("#example", "race");
  await page.selectOption("#target", "sm_103a");
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#v1="));
  const hash = new URL(page.url()).hash;
  const other = await open(hash);
  assert.equal(await other.inputValue("#target"), "sm_103a");
  assert.equal(await other.getByRole("tab", { name: "Run" }).getAttribute("aria-selected"), "true");
  assert.match(await other.locator(".cm-content").textContent(), /C = A \* B/);
  assert.match(await other.inputValue("#launch"), /128 x 384 times/);
  await other.close();
  assert.ok(server.requests.every((path) => !path.includes("v1=")));
});

test("a link that was cut, and one of a rule", async () => {
  const first = await open();
  assert.equal(await first.locator("#notice").isHidden(), true);
  await first.close();
  const cut = await open("#v1=AAAA");
  await cut.getByText("it may have been cut").waitFor();
  await cut.close();
  const rule = await open("#rule=TC704");
  await rule.locator(".finding", { hasText: "TC704" }).first().waitFor();
  await rule.close();
  const race = await open("#rule=SIM201");
  await race.getByText("Press Run to see SIM201.").waitFor();
  await race.getByRole("button", { name: "Run", exact: true }).click();
  await race.locator("#pane-run .finding", { hasText: "SIM201" }).first().waitFor();
  await race.close();
  const off = await open("#rule=TC313");
  await off.getByText("is off by default").waitFor();
  await off.locator(".finding", { hasText: "TC313" }).first().waitFor();
  await off.close();
});

test("links that say nonsense", async () => {
  const encode = (value) =>
    page.evaluate(async (value) => {
      const stream = new Blob([JSON.stringify(value)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
      const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
      return btoa(String.fromCharCode(...bytes))
        .replaceAll("+", "-")
        .replaceAll("/", "_")
        .replace(/=+$/, "");
    }, value);
  const links = [
    ["#example=constructor", /There is no example/],
    ["#rule=TC000", /There is no example/],
    ["#v1=%%%", /may have been cut/],
    [`#v1=${await encode(null)}`, /may have been cut/],
    [`#v1=${await encode({ text: 7, language: "ptx" })}`, /may have been cut/],
    [`#v1=${await encode({ text: "", language: "toString" })}`, /may have been cut/],
    [`#v1=${await encode({ text: ".entry", language: "ptx", targets: "nonsense" })}`, /it is ignored/],
    [
      `#v1=${await encode({ text: ".entry", language: "ptx", targets: { a: 1 }, pane: "constructor", rules: 4 })}`,
      null,
    ],
  ];
  for (const [hash, said] of links) {
    const other = await open(hash);
    if (said) await other.locator("#notice", { hasText: said }).waitFor();
    else assert.equal(await other.locator("#notice").isHidden(), true, hash);
    assert.equal(await other.getByRole("tab", { selected: true }).count(), 1, hash);
    await other.close();
  }
  // The same in a page that is open.
  await page.evaluate(() => (location.hash = "#v1=AAAA"));
  await page.getByText("it may have been cut").waitFor();
});

test("the way past the controls keeps the address", async () => {
  const other = await open("#example=hang");
  await other.keyboard.press("Tab");
  await other.keyboard.press("Enter");
  assert.equal(new URL(other.url()).hash, "#example=hang");
  assert.equal(await other.evaluate(() => document.activeElement.id), "panes");
  await other.close();
});

test("without WebAssembly the page says so", async () => {
  // In a browser that has not kept it.
  const empty = await browse({ serviceWorkers: "block" });
  await empty.route("**/*.wasm", (route) => route.fulfill({ status: 404, body: "" }));
  const other = await empty.newPage();
  await other.goto(server.url);
  await other.getByText("The checker could not be loaded").waitFor();
  assert.equal(await other.locator("#status").textContent(), "Not checked.");
  await other.getByRole("tab", { name: "Run" }).click();
  assert.equal(await other.getByRole("button", { name: "Run", exact: true }).isDisabled(), true);
  await other.selectOption("#example", "gemm");
  assert.match(await other.locator("#notice").textContent(), /could not be loaded/);
  await empty.close();
});

test("what is pasted is never taken for markup", async () => {
  const before = problems.length;
  await page.selectOption("#language", "ptx");
  await paste('.version 9.0\n.target sm_100a\n.entry k() {\n<img src=x onerror="document.title=1">\n// `<b>`\n}\n');
  await tab(/Findings/).click();
  await findings().first().waitFor();
  await page.locator(".cm-lintRange").first().hover();
  await page.locator(".cm-tooltip").first().waitFor();
  assert.equal(await page.title(), "ptx-tc playground");
  assert.equal(problems.length, before);
});

test("binary, and 50 MB, and the page stays alive", async () => {
  await paste(String.fromCharCode(...Array.from({ length: 4096 }, (_, at) => (at * 37) % 256 || 1)));
  await page.waitForFunction(() => /error/.test(document.querySelector("#pane-findings .summary").textContent));
  await paste("add.u32 a, b, c;\n".repeat(3_100_000));
  await page.getByText("This text is longer than the 16 MB").waitFor({ timeout: 120_000 });
  await page.selectOption("#example", "kernel");
  await findings().filter({ hasText: "TC301" }).waitFor();
  assert.equal(await page.locator("#notice").isHidden(), true);
});

test("by keyboard alone", async () => {
  const page = await open();
  const tab = (name) => page.getByRole("tab", { name });
  const findings = page.locator("#pane-findings .finding");
  await findings.first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await tab(/Findings/).focus();
  for (const [key, name] of [
    ["ArrowRight", "Descriptors"],
    ["ArrowRight", "Tensor Memory"],
    ["ArrowRight", "Run"],
    ["ArrowRight", "Findings (3)"],
    ["End", "Run"],
    ["Home", "Findings (3)"],
  ]) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-selected")), "true");
  }
  // Out of the tabs, to the first repair, and do it.
  for (let at = 0; at < 12; at += 1) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate(() => document.activeElement.textContent)) === "Use 64 columns") break;
  }
  await page.keyboard.press("Enter");
  await findings.filter({ hasText: "TC301" }).waitFor({ state: "detached" });
  // The editor gives the focus back: Escape, then Tab.
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.closest(".cm-editor") === null), true);
  await page.close();
});

for (const theme of ["light", "dark"]) {
  test(`no violation that axe knows, ${theme}`, async () => {
    await page.selectOption("#theme", theme);
    await page.selectOption("#example", "hang");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".verdict").waitFor();
    await page.evaluate(() => document.querySelectorAll("#pane-run details").forEach((it) => (it.open = true)));
    for (const name of [/Run/, /Tensor Memory/, /Descriptors/, /Findings/]) {
      await tab(name).click();
      if (String(name).includes("Findings")) {
        await page.selectOption("#example", "kernel");
        await findings().first().getByRole("button", { name: /^TC/ }).click();
        await page.locator(".explanation p").first().waitFor();
      }
      if (String(name).includes("Memory")) await page.locator("#pane-memory ptx-picture svg").first().waitFor();
      if (String(name).includes("Descriptors")) await page.locator("#field-n").waitFor();
      await page.waitForTimeout(300);
      // Not as a script of the page, which its policy forbids.
      const found = await page.evaluate(`${axe}; axe.run(document, { resultTypes: ["violations"] })`);
      const said = found.violations.map(
        (it) =>
          `${it.id}: ${it.nodes
            .map((node) => node.target.join(" "))
            .slice(0, 3)
            .join(", ")}`,
      );
      assert.deepEqual(said, [], `${name}, ${theme}`);
    }
  });
}

test("on a phone nothing is wider than the screen", async () => {
  await page.selectOption("#theme", "system");
  await page.setViewportSize({ width: 390, height: 844 });
  for (const name of [/Findings/, /Descriptors/, /Tensor Memory/, /Run/]) {
    await tab(name).click();
    await page.waitForTimeout(300);
    const [width, wanted] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width <= wanted, `${name}: ${width} of ${wanted}`);
  }
  await page.setViewportSize({ width: 1400, height: 900 });
});

test("offline after the first load", async () => {
  await page.waitForFunction(() => navigator.serviceWorker.ready.then((it) => it.active?.state === "activated"));
  await context.setOffline(true);
  const away = await context.newPage();
  await away.goto(server.url);
  await checked(away);
  await away.locator(".finding", { hasText: "TC301" }).waitFor();
  await away.selectOption("#example", "hang");
  await away.getByRole("button", { name: "Run", exact: true }).click();
  await away.locator(".verdict").waitFor();
  await away.close();
  await context.setOffline(false);
});

test("nothing went wrong meanwhile", () => {
  const expected = /net::ERR_INTERNET_DISCONNECTED|404/;
  assert.deepEqual(
    problems.filter((problem) => !expected.test(problem)),
    [],
  );
});
