// The page: one text, and four panes over it.

import { byId, h, prose, setTheme, type Theme } from "./elements.ts";
import { Editor, LANGUAGES, type Language, LONGEST } from "./editor.ts";
import { EXAMPLES, FAMILIES, ofRule } from "./examples.ts";
import { Findings } from "./findings.ts";
import { MemoryMap } from "./memory.ts";
import type { Diagnostic, Position } from "./messages.ts";
import { RunPane } from "./run.ts";
import { fragment, read, type Shared } from "./share.ts";
import { Workbench } from "./workbench.ts";
import { Checker, Refusal, Runner } from "./workers.ts";

const PANES = { findings: "Findings", descriptors: "Descriptors", memory: "Tensor Memory", run: "Run" } as const;
type Pane = keyof typeof PANES;

const notice = byId("notice");
const status = byId("status");

/** What is said, until something else is; nothing is said after what is final. */
function say(text: string, isFinal = false): void {
  if (notice.dataset["final"]) return;
  if (isFinal) notice.dataset["final"] = "yes";
  notice.replaceChildren(prose(text));
  notice.hidden = text === "";
}

const checker = new Checker((why, how) => {
  if (how === "unloaded") {
    say(
      `The checker could not be loaded (${why}). The page needs WebAssembly. Load it again, or use the command line.`,
      true,
    );
  } else if (how === "dead") {
    say(`The checker failed again and again (${why}). Please report it, with the text, and load the page again.`, true);
  } else {
    say(`The checker failed (${why}). It was started again. Please report it, with the text.`);
    checker.ask.configure(target.value, rules).catch(() => undefined);
    editor.reconnect();
    return;
  }
  status.textContent = "Not checked.";
  findings.reset();
});
const runner = new Runner(checker.module);

// The panes.
const tabs = byId("tabs");
const panels = Object.fromEntries(
  Object.entries(PANES).map(([pane, title]) => {
    const panel = h("div", {
      id: `pane-${pane}`,
      role: "tabpanel",
      "aria-labelledby": `tab-${pane}`,
      hidden: true,
      class: "panel",
    });
    const tab = h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${pane}`,
        "aria-controls": panel.id,
        "aria-selected": "false",
        tabindex: -1,
        onclick: () => select(pane as Pane),
      },
      title,
    );
    tabs.append(tab);
    byId("panes").append(panel);
    return [pane, { tab, panel }];
  }),
) as unknown as Record<Pane, { tab: HTMLButtonElement; panel: HTMLElement }>;
let selected: Pane = "findings";

tabs.addEventListener("keydown", (event) => {
  const all = Object.keys(PANES) as Pane[];
  const at = all.indexOf(selected);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  select(all[(to + all.length) % all.length]!);
  panels[selected].tab.focus();
});

const editor = new Editor(byId("editor"), checker, {
  changed: (changes) => run.changed(changes),
  opened: () => {
    status.textContent = checker.isDead ? "Not checked." : "Checks.";
  },
  found: (diagnostics: Diagnostic[]) => {
    findings.show(diagnostics);
    panels.findings.tab.textContent =
      diagnostics.length > 0 ? `${PANES.findings} (${diagnostics.length})` : PANES.findings;
  },
  checked,
  tooLong,
  clicked: (at: Position) => void openDescriptor(at),
});
const findings = new Findings(panels.findings.panel, editor, checker);
const workbench = new Workbench(panels.descriptors.panel, checker);
const memory = new MemoryMap(panels.memory.panel, checker);
const run = new RunPane(panels.run.panel, editor, checker, runner);

function select(pane: Pane): void {
  selected = pane;
  for (const [name, { tab, panel }] of Object.entries(panels)) {
    tab.setAttribute("aria-selected", String(name === pane));
    tab.tabIndex = name === pane ? 0 : -1;
    panel.hidden = name !== pane;
  }
  void showPane();
}

/** What a pane shows beside the findings is asked for when it is looked at, of a text that was checked. */
async function showPane(): Promise<void> {
  try {
    if (selected === "descriptors") await workbench.start();
    if (selected === "memory" && editor.isChecked) await memory.show();
    if (selected === "run" && editor.isChecked) await run.show();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

function checked(milliseconds: number): void {
  if (selected === "memory" || selected === "run") void showPane();
  if (isTooLong) say("");
  isTooLong = false;
  status.textContent = `Checked in ${milliseconds.toFixed(0)} ms.`;
  status.dataset["milliseconds"] = milliseconds.toFixed(1);
}

let isTooLong = false;

function tooLong(): void {
  isTooLong = true;
  const most = `${LONGEST / 2 ** 20} MB`;
  say(
    `This text is longer than the ${most} that the page checks. \`ptx-tc check\` on the command line has no such limit.`,
  );
  status.textContent = "Not checked.";
}

async function openDescriptor({ line, character }: Position): Promise<void> {
  const found = await checker.ask.descriptors(line, character).catch(() => []);
  if (found.length === 0) return;
  const holds = ({ start, end }: (typeof found)[number]) =>
    (start[0] < line || (start[0] === line && start[1] <= character)) &&
    (end[0] > line || (end[0] === line && character <= end[1]));
  // A click on an operand opens it; one beside the operands is for the pane that is open.
  const chosen = found.find(holds) ?? (selected === "descriptors" ? found.find((it) => it.is_known) : undefined);
  if (!chosen) return;
  select("descriptors");
  await workbench.open(chosen);
}

// The controls.
const example = byId<HTMLSelectElement>("example");
const language = byId<HTMLSelectElement>("language");
const target = byId<HTMLSelectElement>("target");
const theme = byId<HTMLSelectElement>("theme");

example.append(
  h("option", { value: "" }, "choose"),
  ...Object.entries(EXAMPLES).map(([name, { title }]) => h("option", { value: name }, title)),
  h(
    "optgroup",
    { label: "Rules" },
    ...FAMILIES.map(([code, title]) => h("option", { value: code }, `${code} ${title}`)),
  ),
);
language.append(...Object.entries(LANGUAGES).map(([name, { title }]) => h("option", { value: name }, title)));

let rules = "";
/** The target that a link names, before the menu has it. */
let named = "";

function openShared({ text, language: written, pane, kernel, launch, targets, rules: extra }: Shared): void {
  say(extra ? `\`${extra}\` is off by default. It runs on this text.` : "");
  target.value = named = targets ?? "";
  rules = extra ?? "";
  // What cannot be configured is as it was.
  checker.ask
    .configure(targets ?? "", rules)
    .catch((error: Error) => say(`${error.message}: the link says so, and it is ignored.`));
  language.value = written;
  editor.open(text, written);
  findings.reset();
  run.reset(kernel, launch, extra);
  select(pane && Object.hasOwn(PANES, pane) ? (pane as Pane) : "findings");
}

/** What was asked for last is what is opened, whichever comes first. */
let wanted = 0;

async function openExample(name: string): Promise<void> {
  const own = (wanted += 1);
  const before = editor.view.state.doc;
  const found = Object.hasOwn(EXAMPLES, name) ? EXAMPLES[name] : await ofRule(name).catch(() => undefined);
  if (own !== wanted || before !== editor.view.state.doc) return;
  if (found) {
    openShared(found);
    if (found.pane === "run" && name.startsWith("SIM")) run.hint(`Press Run to see ${name}.`);
  } else if (navigator.onLine) {
    say(`There is no example \`${name}\`.`);
  } else {
    say(`The example \`${name}\` was not loaded before, and there is no network.`);
  }
  const isListed = found && [...example.options].some((option) => option.value === name);
  example.value = isListed ? name : "";
}

/** Opens what the address says; whether it says something. */
async function openAddress(): Promise<boolean> {
  // An address within the page, as that of the panes, is none of a text.
  if (!location.hash.includes("=")) return false;
  const own = (wanted += 1);
  const shared = await read(location.hash).catch(() => undefined);
  if (own !== wanted) return true;
  if (!shared) say("The link has no text that this page can read: it may have been cut.");
  else if ("example" in shared) await openExample(shared.example);
  else openShared(shared);
  return shared !== undefined;
}

example.addEventListener("change", () => void openExample(example.value));
language.addEventListener("change", () => {
  editor.open(editor.text, language.value as Language);
  void showPane();
});
target.addEventListener("change", () => void checker.ask.configure(target.value, rules));
byId("format").addEventListener("click", async () => {
  if (!(await editor.format())) status.textContent = "Only PTX without syntax errors can be laid out.";
});
document.querySelector(".skip")!.addEventListener("click", (event) => {
  // The address is that of the text.
  event.preventDefault();
  byId("panes").focus();
});
byId("share").addEventListener("click", () => void share());

async function share(): Promise<void> {
  const { kernel, launch } = run.state;
  const shared: Shared = {
    text: editor.text,
    language: editor.language,
    pane: selected,
    ...(kernel && { kernel }),
    ...(launch && { launch }),
    ...(target.value && { targets: target.value }),
    ...(rules && { rules }),
  };
  const hash = await fragment(shared);
  if (hash.length > 2_000_000) {
    status.textContent = "The text is too long for a link: browsers take addresses of 2 MB.";
    return;
  }
  history.replaceState(null, "", hash);
  // Longer addresses are cut by chats and mail.
  const long = hash.length > 30_000 ? " It is long: some programs cut it." : "";
  try {
    await navigator.clipboard.writeText(location.href);
    status.textContent = `The link is copied.${long}`;
  } catch {
    status.textContent = `The link is in the address bar.${long}`;
  }
}

const THEME = "ptx-tc-theme";

function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(THEME);
    return stored === "light" || stored === "dark" ? stored : "system";
  } catch {
    return "system";
  }
}

theme.value = storedTheme();
setTheme(storedTheme());
theme.addEventListener("change", () => {
  setTheme(theme.value as Theme);
  try {
    localStorage.setItem(THEME, theme.value);
  } catch {
    // The page is as it was wanted until it is loaded again.
  }
});

async function start(): Promise<void> {
  if (!(await openAddress()) || editor.text === "") {
    const said = notice.textContent ?? "";
    await openExample("kernel");
    if (said) say(said);
  }
  const { targets } = await checker.ask.vocabulary();
  const chosen = target.value || named;
  target.append(
    h("option", { value: "" }, "of the text"),
    ...targets.map((name) => h("option", { value: name }, name)),
  );
  target.value = targets.includes(chosen) ? chosen : "";
}

select("findings");
start().catch((error: unknown) => {
  if (!(error instanceof Refusal)) throw error;
});
addEventListener("hashchange", () => void openAddress());

if ("serviceWorker" in navigator && import.meta.env.PROD) {
  void navigator.serviceWorker.register("./service-worker.js").catch(() => undefined);
}
