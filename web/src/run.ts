// Runs of a kernel: what it is launched with, the verdict, what happened and where everyone stands.

import { type ChangeDesc, ChangeSet, Text } from "@codemirror/state";

import type { Editor } from "./editor.ts";
import { h, picture, prose } from "./elements.ts";
import type { Ran, Range, RunFinding, Span, Timeline, TimelineTrack } from "./messages.ts";
import { offset } from "./positions.ts";
import { type Checker, Refusal, type Runner } from "./workers.ts";

const VERDICTS = { clean: "Clean", findings: "Findings", incomplete: "Incomplete" } as const;

/** Warp instructions after which a run ends: seconds on a laptop. */
const BUDGETS = [200_000, 2_000_000, 20_000_000];

/** A place of a run as one of the editor, whose columns are UTF-16 code units. */
function range(text: string[], span: Span): Range {
  const place = (line: number, column: number) => {
    const before = [...(text[line - 1] ?? "")].slice(0, column - 1).join("");
    return { line: line - 1, character: before.length };
  };
  return { start: place(span.line, span.column), end: place(span.end_line, span.end_column) };
}

/** What a track does at a step. */
function doing(track: TimelineTrack, step: number, end: number): { text: string; line?: number } {
  const now = track.slices.find((it) => it.start <= step && (step < it.end || (it.is_open && step <= it.end)));
  const event = track.events.find((it) => it.at === step);
  const events = event ? `${event.name}` : "";
  if (now) {
    const what = `${now.kind.replaceAll("-", " ")}: ${now.name}${now.is_open && step >= end ? " (does not end)" : ""}`;
    return { text: events ? `${events}; ${what}` : what, line: now.line };
  }
  if (event) return { text: event.name, line: event.line };
  if (track.life && step >= track.life[1] && !track.stands) return { text: "has ended" };
  if (track.life && step < track.life[0]) return { text: "has not started" };
  return { text: "" };
}

export class RunPane {
  private readonly kernel = h("select", { id: "run-kernel", onchange: () => this.choose(this.kernel.value) });
  private readonly launch = h("textarea", {
    id: "launch",
    rows: 8,
    spellcheck: "false",
    oninput: () => this.launches.set(this.chosen, this.launch.value),
    placeholder: "Empty: several launches are assumed and compared.",
  });
  private readonly budget = h(
    "select",
    { id: "budget" },
    ...BUDGETS.map((it) => h("option", { value: it }, it.toLocaleString("en"))),
  );
  private readonly schedule = h(
    "select",
    { id: "schedule" },
    h("option", { value: "{}" }, "at once"),
    h("option", { value: '{"late":true}' }, "as late as possible"),
    ...[1, 2, 3].map((seed) => h("option", { value: JSON.stringify({ seed }) }, `random ${seed}`)),
  );
  private readonly specials = h("input", { id: "specials", type: "checkbox" });
  private readonly start = h("button", { type: "button", class: "primary", onclick: () => void this.run() }, "Run");
  private readonly stop = h(
    "button",
    { type: "button", onclick: () => this.runner.stop("The run was stopped.") },
    "Stop",
  );
  /** The kernel that is wanted, and those of the text. */
  private chosen = "";
  private kernels: string[] = [];
  private hasKernels = false;
  private isRunning = false;
  /** Another text has another number: what was asked of an earlier one is not for it. */
  private generation = 0;
  /** Changes of the text since the run that is shown. */
  private changes: ChangeDesc | undefined;
  private readonly outdated = h("p", { class: "remark", hidden: true }, "The text has changed since this run.");
  private readonly template = h(
    "button",
    { type: "button", onclick: () => void this.writeTemplate() },
    "Launch to fill in",
  );
  private readonly status = h("p", { class: "summary", role: "status" });
  private readonly result = h("div");
  private launches = new Map<string, string>();

  constructor(
    root: HTMLElement,
    private readonly editor: Editor,
    private readonly checker: Checker,
    private readonly runner: Runner,
  ) {
    this.budget.value = String(BUDGETS[1]);
    this.stop.hidden = true;
    root.append(
      h("div", { class: "bar" }, h("label", { for: "run-kernel" }, "Kernel"), this.kernel, this.start, this.stop),
      h(
        "details",
        { open: true },
        h("summary", {}, "Launch"),
        h("label", { for: "launch", class: "hint" }, "A launch file (TOML): sizes and arguments."),
        this.launch,
        h(
          "div",
          { class: "bar" },
          this.template,
          h("label", { for: "schedule" }, "Asynchronous operations take effect"),
          this.schedule,
          h("label", { for: "budget" }, "Warp instructions of each launch, at most"),
          this.budget,
          h("label", { for: "specials" }, this.specials, " Say where NaN and infinity are made"),
        ),
      ),
      this.status,
      this.outdated,
      this.result,
    );
    this.enable();
  }

  private enable(): void {
    this.start.disabled = this.isRunning || !this.hasKernels;
    this.template.disabled = !this.hasKernels;
    this.stop.hidden = !this.isRunning;
  }

  private choose(kernel: string): void {
    this.chosen = kernel;
    this.kernel.value = kernel;
    this.launch.value = this.launches.get(kernel) ?? "";
  }

  /** The text was edited. */
  changed(changes: ChangeDesc): void {
    if (!this.changes) return;
    this.changes = this.changes.composeDesc(changes);
    this.outdated.hidden = false;
    this.editor.mark([], false);
  }

  get state(): { kernel: string; launch: string } {
    return { kernel: this.chosen, launch: this.launch.value };
  }

  /** Offers the kernels of the text as it is now. */
  async show(): Promise<void> {
    const kernels = this.editor.language === "ptx" ? await this.checker.ask.kernels() : [];
    this.kernel.replaceChildren(...kernels.map((name) => h("option", { value: name }, name)));
    const [first] = kernels;
    if (first !== undefined && !kernels.includes(this.chosen)) {
      // One of as many kernels has another name: the launch is for that.
      const renamed = kernels.length === this.kernels.length ? kernels[this.kernels.indexOf(this.chosen)] : undefined;
      if (renamed !== undefined) this.launches.set(renamed, this.launch.value);
      this.choose(renamed ?? first);
    }
    this.kernels = kernels;
    this.kernel.value = this.chosen;
    this.hasKernels = kernels.length > 0;
    this.enable();
    if (kernels.length === 0) {
      const why =
        'There is no kernel to run: PTX with an `.entry` is what runs. Compile CUDA by `nvcc -ptx`; Triton has `kernel.asm["ptx"]`.';
      this.status.replaceChildren(prose(why));
    } else if (this.status.textContent?.startsWith("There is no kernel")) {
      this.status.replaceChildren();
    }
  }

  /** Another text: nothing is known of its runs. */
  reset(kernel = "", launch = "", rules = ""): void {
    this.specials.checked = rules.includes("SIM508");
    this.generation += 1;
    if (this.isRunning) this.runner.stop("");
    this.launches = new Map([[kernel, launch]]);
    this.chosen = kernel;
    this.kernels = [];
    this.kernel.replaceChildren();
    this.hasKernels = false;
    this.enable();
    this.launch.value = launch;
    this.clear();
    this.status.replaceChildren();
  }

  /** Says what to do. */
  hint(text: string): void {
    this.status.textContent = text;
  }

  private clear(): void {
    this.changes = undefined;
    this.outdated.hidden = true;
    this.result.replaceChildren();
    this.editor.mark([], false);
  }

  private async writeTemplate(): Promise<void> {
    try {
      const kernel = this.chosen;
      const launch = await this.runner.ask.template(this.editor.text, kernel);
      this.launches.set(kernel, launch);
      if (kernel === this.chosen) this.launch.value = launch;
    } catch (error) {
      this.refused(error);
    }
  }

  private refused(error: unknown): void {
    if (!(error instanceof Refusal)) throw error;
    this.status.replaceChildren(prose(error.message));
  }

  async run(): Promise<void> {
    const { text } = this.editor;
    const kernel = this.chosen;
    const named = /^\s*kernel\s*=\s*"([^"]*)"/m.exec(this.launch.value)?.[1];
    if (named !== undefined && named !== kernel) {
      this.status.replaceChildren(prose(`The launch is for \`${named}\`, and \`${kernel}\` is chosen.`));
      return;
    }
    const { generation } = this;
    const rules = this.specials.checked ? ["SIM508"] : [];
    const options = { ...JSON.parse(this.schedule.value), budget: Number(this.budget.value), rules };
    this.launches.set(kernel, this.launch.value);
    this.isRunning = true;
    this.enable();
    this.clear();
    this.changes = ChangeSet.empty(this.editor.view.state.doc.length);
    const started = performance.now();
    const tick = setInterval(() => {
      this.status.textContent = `Runs for ${((performance.now() - started) / 1000).toFixed(0)} s.`;
    }, 1000);
    this.status.textContent = "Runs.";
    try {
      const ran = await this.runner.ask.run(text, kernel, this.launch.value, JSON.stringify(options));
      if (generation === this.generation) this.tell(ran, text, (performance.now() - started) / 1000);
    } catch (error) {
      if (generation === this.generation) this.refused(error);
    } finally {
      clearInterval(tick);
      this.isRunning = false;
      this.enable();
    }
  }

  private tell(ran: Ran, source: string, seconds: number): void {
    const text = source.split(/\r\n?|\n/);
    const doc = Text.of(text);
    const kernel = ran.document.kernels[0];
    if (!kernel) return;
    const { statistics, verdict } = kernel;
    this.status.replaceChildren(
      h("strong", { class: `verdict ${verdict}` }, VERDICTS[verdict]),
      ` ${kernel.name}: ${statistics.warp_instructions.toLocaleString("en")} warp instructions in ${statistics.clusters} cluster${statistics.clusters === 1 ? "" : "s"}, ${seconds.toFixed(1)} s.`,
    );
    const link = (span: Span) =>
      h(
        "button",
        { type: "button", class: "link", onclick: () => this.reveal(doc, range(text, span)) },
        `line ${span.line}`,
      );
    const findings = kernel.diagnostics.map((it) => this.finding(it, link));
    const reasons = kernel.reasons.map((it) =>
      h(
        "li",
        {},
        prose(it.message),
        it.span ? " (" : "",
        it.span ? link(it.span) : "",
        it.span ? ")" : "",
        it.help ? h("p", { class: "remark" }, prose(it.help)) : null,
      ),
    );
    const details = (title: string, ...children: (Node | null)[]) =>
      h("details", {}, h("summary", {}, title), ...children);
    this.result.replaceChildren(
      ...(findings.length > 0 ? [h("ol", { class: "findings" }, ...findings)] : []),
      ...(reasons.length > 0 ? [h("h3", {}, "Not judged further"), h("ul", { class: "reasons" }, ...reasons)] : []),
      ...(ran.timeline && ran.timeline_svg ? this.timeline(ran.timeline, ran.timeline_svg, doc) : []),
      ...(ran.tensor_memory_svg
        ? [details("Tensor Memory in the run", picture(ran.tensor_memory_svg, "Tensor Memory in the run"))]
        : []),
      ...(ran.barriers_svg ? [details("Barriers in the run", picture(ran.barriers_svg, "Barriers in the run"))] : []),
      ...(kernel.printed?.length
        ? [details("Printed", h("pre", { tabindex: 0 }, kernel.printed.map((it) => it.text).join("")))]
        : []),
      ...(kernel.assumed.length > 0
        ? [details("Assumed", h("ul", {}, ...kernel.assumed.map((it) => h("li", {}, prose(it)))))]
        : []),
      details("As the command says it", h("pre", { tabindex: 0 }, ran.text)),
      ...(ran.launch && !this.launch.value.trim() ? [this.assumedLaunch(ran.launch)] : []),
    );
  }

  /** Shows a place of the text that ran, wherever that is now. */
  private reveal(doc: Text, range: Range): void {
    const at = (position: Range["start"], side: number) =>
      this.editor.position(this.changes!.mapPos(offset(doc, position), side));
    this.editor.reveal({ start: at(range.start, 1), end: at(range.end, -1) });
  }

  private assumedLaunch(launch: string): HTMLElement {
    const use = () => {
      this.launch.value = launch;
      this.launches.set(this.chosen, launch);
      this.launch.focus();
    };
    return h("p", {}, h("button", { type: "button", onclick: use }, "Edit the launch that was assumed"));
  }

  private finding(it: RunFinding, link: (span: Span) => HTMLElement): HTMLElement {
    return h(
      "li",
      { class: `finding ${it.severity}` },
      h(
        "div",
        { class: "head" },
        h("span", { class: "severity" }, it.severity),
        h("a", { href: it.url }, `${it.code} ${it.name}`),
        link(it.span),
      ),
      h("p", {}, prose(it.message)),
      it.labels.length > 0 &&
        h(
          "ul",
          { class: "related" },
          ...it.labels.map(({ span, message }) => h("li", {}, link(span), ": ", prose(message))),
        ),
      it.note ? h("p", { class: "remark" }, prose(`note: ${it.note}`)) : null,
      it.help ? h("p", { class: "remark" }, prose(`help: ${it.help}`)) : null,
    );
  }

  /** The picture of a run, its steps one by one, and whom a hang leaves where. */
  private timeline(timeline: Timeline, svg: string, doc: Text): HTMLElement[] {
    // Lines of the text that ran, where they are now.
    const now = (line: number) => {
      if (line < 1 || line > doc.lines) return line;
      return this.editor.position(this.changes!.mapPos(doc.line(line).from, 1)).line + 1;
    };
    const stops = new Set([0, timeline.end]);
    for (const track of timeline.tracks) {
      for (const { start, end } of track.slices) stops.add(start).add(end);
      for (const { at } of track.events) stops.add(at);
    }
    const steps = [...stops].sort((one, other) => one - other);
    const stuck = timeline.tracks.filter((track) => track.stands);
    const several = new Set(timeline.tracks.map((track) => track.cta)).size > 1;
    const who = (track: TimelineTrack) => (several ? `CTA ${track.cta}, ${track.name}` : track.name);
    const rows = h("tbody");
    const output = h("output", { for: "step" });
    const reveal = (line: number | undefined) =>
      line === undefined
        ? ""
        : h(
            "button",
            { type: "button", class: "link", onclick: () => this.editor.mark([now(line)], true) },
            `line ${line}`,
          );
    const show = (at: number, follow: boolean) => {
      const step = steps[at] ?? 0;
      output.textContent = `step ${step} of ${timeline.end}`;
      const all = timeline.tracks.map((track) => ({ track, ...doing(track, step, timeline.end) }));
      rows.replaceChildren(
        ...all.map(({ track, text, line }) =>
          h("tr", {}, h("th", { scope: "row" }, who(track)), h("td", {}, prose(text)), h("td", {}, reveal(line))),
        ),
      );
      this.editor.mark(
        all.flatMap(({ line }) => (line === undefined ? [] : [now(line)])),
        follow,
      );
    };
    const slider = h("input", {
      id: "step",
      type: "range",
      min: 0,
      max: steps.length - 1,
      value: steps.length - 1,
      oninput: () => show(Number(slider.value), true),
    });
    const move = (by: number) => () => {
      slider.value = String(Number(slider.value) + by);
      show(Number(slider.value), true);
    };
    show(steps.length - 1, false);
    const heads = ["Who", "Does", "Where"].map((head) => h("th", { scope: "col" }, head));
    return [
      h("h3", {}, "What happened"),
      picture(svg, "Timeline of the run"),
      h(
        "div",
        { class: "bar" },
        h("label", { for: "step" }, "Step"),
        h("button", { type: "button", "aria-label": "Previous step", onclick: move(-1) }, "‹"),
        slider,
        h("button", { type: "button", "aria-label": "Next step", onclick: move(1) }, "›"),
        output,
      ),
      ...(stuck.length > 0
        ? [
            h("h4", {}, "Where they stand"),
            h("ul", { class: "stands" }, ...stuck.map((track) => h("li", {}, `${who(track)} `, prose(track.stands!)))),
          ]
        : []),
      h(
        "div",
        { class: "scroll", tabindex: 0, role: "region", "aria-label": "What each does at the step" },
        h("table", { class: "steps" }, h("thead", {}, h("tr", {}, ...heads)), rows),
      ),
    ];
  }
}
