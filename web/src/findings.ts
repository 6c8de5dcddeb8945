// What was found in the text.

import DOMPurify from "dompurify";
import { marked } from "marked";

import { h, prose } from "./elements.ts";
import type { Editor } from "./editor.ts";
import type { CodeAction, Diagnostic } from "./messages.ts";
import type { Checker } from "./workers.ts";

const SEVERITY = { 1: "error", 2: "warning", 3: "info", 4: "info" } as const;

/** More are in the text all the same. */
const MOST = 200;

export class Findings {
  private found: Diagnostic[] = [];
  private readonly summary = h("p", { class: "summary", role: "status" });
  private readonly list = h("ol", { class: "findings" });
  private readonly fixAll = h(
    "button",
    { type: "button", onclick: () => void this.editor.fixAll() },
    "Apply safe fixes",
  );
  private readonly explanation = h("section", { class: "explanation", hidden: true, "aria-label": "Explanation" });

  constructor(
    root: HTMLElement,
    private readonly editor: Editor,
    private readonly checker: Checker,
  ) {
    root.append(h("div", { class: "bar" }, this.summary, this.fixAll), this.list, this.explanation);
    this.fixAll.hidden = true;
  }

  /** Another text. */
  reset(): void {
    this.explanation.hidden = true;
    this.found = [];
    this.list.replaceChildren();
    this.summary.textContent = "";
    this.fixAll.hidden = true;
  }

  show(found: Diagnostic[]): void {
    this.found = found;
    const counts = (["error", "warning", "info"] as const)
      .map((severity) => [severity, found.filter((it) => SEVERITY[it.severity ?? 1] === severity).length] as const)
      .filter(([, count]) => count > 0)
      .map(([severity, count]) => `${count} ${severity}${count > 1 && severity !== "info" ? "s" : ""}`);
    const said = found.length === 0 ? "No findings." : `${counts.join(", ")}.`;
    if (this.summary.textContent !== said) this.summary.textContent = said;
    this.list.replaceChildren(...found.slice(0, MOST).map((it) => this.item(it)));
    if (found.length > MOST) this.list.append(h("li", {}, `And ${found.length - MOST} more.`));
    this.fixAll.hidden = true;
    void this.offerFixes(found);
  }

  /** Which findings have repairs is asked for when they are shown. */
  private async offerFixes(found: Diagnostic[]): Promise<void> {
    if (found.length === 0) return;
    const all = await this.editor.fixes().catch(() => []);
    if (this.found === found) this.fixAll.hidden = !all.some((it) => it.edit?.changes);
    const { doc } = this.editor.view.state;
    const offered = new Map<Diagnostic, CodeAction[]>();
    for (const [at, finding] of found.slice(0, MOST).entries()) {
      if (this.found !== found) return;
      const fixes = (await this.editor.fixes(finding).catch(() => [])).filter((it) => it.edit?.changes);
      if (this.found !== found) return;
      const buttons = fixes.map((fix) =>
        h("button", { type: "button", class: "fix", onclick: () => this.editor.apply(fix, doc) }, prose(fix.title)),
      );
      this.list.children[at]?.querySelector(".fixes")?.replaceChildren(...buttons);
      offered.set(finding, fixes);
    }
    if (this.editor.view.state.doc === doc) this.editor.offer(offered);
  }

  private item(finding: Diagnostic): HTMLElement {
    const severity = SEVERITY[finding.severity ?? 1];
    const [message, ...remarks] = finding.message.split("\n");
    const at = finding.range.start;
    const related = (finding.relatedInformation ?? []).map(({ location, message }) =>
      h("li", {}, this.place(location.range, `line ${location.range.start.line + 1}`), ": ", prose(message)),
    );
    return h(
      "li",
      { class: `finding ${severity}` },
      h(
        "div",
        { class: "head" },
        h("span", { class: "severity" }, severity),
        finding.code ? this.rule(finding) : null,
        this.place(finding.range, `line ${at.line + 1}`),
      ),
      h("p", {}, prose(message ?? "")),
      ...remarks.map((remark) => h("p", { class: "remark" }, prose(remark))),
      related.length > 0 && h("ul", { class: "related" }, ...related),
      h("div", { class: "fixes" }),
    );
  }

  private place(range: Diagnostic["range"], text: string): HTMLElement {
    return h("button", { type: "button", class: "link", onclick: () => this.editor.reveal(range) }, text);
  }

  private rule({ code }: Diagnostic): HTMLElement {
    const title = `Explain ${code}`;
    return h("button", { type: "button", class: "link", title, onclick: () => void this.explain(code!) }, code!);
  }

  /** Says what a rule is about. */
  async explain(code: string): Promise<void> {
    const text = await this.checker.ask.explain(code);
    if (text === null) return;
    const html = DOMPurify.sanitize(await marked.parse(text));
    const body = h("div");
    body.innerHTML = html;
    // The headings of a page of their own are small ones here.
    for (const heading of body.querySelectorAll("h1, h2, h3")) heading.replaceWith(h("h4", {}, heading.textContent));
    const close = () => {
      this.explanation.hidden = true;
    };
    this.explanation.replaceChildren(
      h(
        "div",
        { class: "bar" },
        h("h3", {}, code),
        h("a", { href: `https://ptx-tc.github.io/rules/${code}` }, "page"),
        h("button", { type: "button", onclick: close }, "Close"),
      ),
      body,
    );
    this.explanation.hidden = false;
    this.explanation.scrollIntoView({ block: "nearest" });
  }
}
