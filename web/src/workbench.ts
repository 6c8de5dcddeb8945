// The workbench: fields of a descriptor, its word and its picture, each from the other.

import { h, picture, prose } from "./elements.ts";
import type { Decoded, DescriptorName, FoundDescriptor, Refused } from "./messages.ts";
import type { Checker } from "./workers.ts";

interface Vocabulary {
  kinds: string[];
  types: string[];
  scale_vectors: string[];
  targets: string[];
}

interface Fact {
  name: string;
  choices: string[];
  /** Whether `decode` takes it; `draw` takes all. */
  decodes: boolean;
}

const START: Record<DescriptorName, { title: string; word: string; facts: Record<string, string> }> = {
  idesc: { title: "Instruction descriptor", word: "0x08200490", facts: { kind: "f16" } },
  smem: {
    title: "Matrix in shared memory",
    word: "0x4000404000010040",
    facts: { type: "bf16", major: "k" },
  },
  "zero-mask": { title: "Zero-column mask", word: "0x0003028000000000", facts: { m: "128", n: "64" } },
};

const EXAMPLES = [
  "ld 16x256b x4",
  "st 16x64b x2 unpack::16b",
  "cp 64x128b warpx2::02_13",
  "mma kind=f16 m=64 n=128",
  "mma kind=mxf4nvf4 m=128 n=128 scale-vec=block16 show=scales-a",
  "mma kind=f16 m=128 n=64 cta-group=2",
];

const isRefused = (answer: object): answer is Refused => "error" in answer;

function facts(descriptor: DescriptorName, { kinds, types, scale_vectors, targets }: Vocabulary): Fact[] {
  const target = { name: "target", choices: ["", ...targets], decodes: true };
  switch (descriptor) {
    case "idesc":
      return [
        { name: "kind", choices: kinds, decodes: true },
        { name: "cta-group", choices: ["", "1", "2"], decodes: true },
        { name: "ws", choices: ["", "no", "yes"], decodes: true },
        { name: "sp", choices: ["", "no", "yes"], decodes: true },
        { name: "scale-vec", choices: ["", ...scale_vectors], decodes: true },
        target,
      ];
    case "smem":
      return [
        { name: "type", choices: types, decodes: false },
        { name: "major", choices: ["k", "mn"], decodes: false },
        { name: "access", choices: ["", "line", "core", "column"], decodes: false },
        { name: "rows", choices: [], decodes: false },
        { name: "columns", choices: [], decodes: false },
        target,
      ];
    case "zero-mask":
      return [
        { name: "m", choices: ["", "32", "64", "128"], decodes: true },
        { name: "n", choices: [], decodes: true },
      ];
  }
}

export class Workbench {
  private vocabulary: Vocabulary | undefined;
  private descriptor: DescriptorName = "idesc";
  private inputs = new Map<string, HTMLInputElement | HTMLSelectElement>();
  private asked = 0;
  private readonly choice = h("select", {
    id: "descriptor",
    onchange: () => this.choose(this.choice.value as DescriptorName),
  });
  private readonly facts = h("div", { class: "facts" });
  private readonly word = h("input", {
    id: "word",
    spellcheck: "false",
    autocomplete: "off",
    oninput: () => void this.decode(),
  });
  private readonly origin = h("p", { class: "hint" });
  private readonly refusal = h("p", { class: "refusal", role: "alert" });
  private readonly verdict = h("div", { role: "status" });
  private readonly fields = h("table", { class: "fields" });
  private readonly drawing = h("div");
  private readonly command = h("code", { class: "command" });
  private readonly words = h("input", {
    id: "picture-words",
    list: "picture-examples",
    spellcheck: "false",
    autocomplete: "off",
    onchange: () => void this.drawWords(),
  });
  private readonly wordsRefusal = h("p", { class: "refusal", role: "alert" });
  private readonly wordsDrawing = h("div");

  constructor(
    root: HTMLElement,
    private readonly checker: Checker,
  ) {
    const names = Object.entries(START) as [DescriptorName, (typeof START)["idesc"]][];
    this.choice.append(...names.map(([name, { title }]) => h("option", { value: name }, title)));
    this.words.value = EXAMPLES[0]!;
    root.append(
      h(
        "p",
        { class: "hint" },
        "Click on a multiply or copy in the text to open its descriptors here. Change the word or a field.",
      ),
      h(
        "div",
        { class: "bar" },
        h("label", { for: "descriptor" }, "Descriptor"),
        this.choice,
        h("label", { for: "word" }, "Word"),
        this.word,
      ),
      this.facts,
      this.origin,
      this.refusal,
      this.verdict,
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Fields of the word" }, this.fields),
      this.drawing,
      h("p", { class: "hint" }, "On the command line: ", this.command),
      h("h3", {}, "Picture of an instruction"),
      h(
        "div",
        { class: "bar" },
        h("label", { for: "picture-words" }, "Instruction"),
        this.words,
        h("datalist", { id: "picture-examples" }, ...EXAMPLES.map((value) => h("option", { value }))),
      ),
      this.wordsRefusal,
      this.wordsDrawing,
    );
  }

  /** Fills in what there was nobody to ask for before. */
  async start(): Promise<void> {
    this.vocabulary ??= await this.checker.ask.vocabulary();
    if (this.inputs.size === 0) this.choose(this.descriptor);
    await this.drawWords();
  }

  /** Opens a descriptor of the text. */
  async open(found: FoundDescriptor): Promise<void> {
    await this.start();
    this.choose(found.descriptor, found);
  }

  private choose(descriptor: DescriptorName, found?: FoundDescriptor): void {
    if (!this.vocabulary) return;
    this.descriptor = descriptor;
    this.choice.value = descriptor;
    const start = START[descriptor];
    const said = found ? Object.fromEntries(found.context.map((word) => word.split("=", 2))) : start.facts;
    this.inputs.clear();
    this.facts.replaceChildren(
      ...facts(descriptor, this.vocabulary).flatMap(({ name, choices }) => {
        const id = `fact-${name}`;
        const change = () => void this.decode();
        const input =
          choices.length > 0
            ? h("select", { id, onchange: change }, ...choices.map((value) => h("option", { value }, value || "any")))
            : h("input", { id, inputmode: "numeric", size: 5, onchange: change });
        input.value = said[name] ?? input.value;
        this.inputs.set(name, input);
        return [h("span", { class: "pair" }, h("label", { for: id }, name), input)];
      }),
    );
    // Digits that are not known count as zeros, to look at the others.
    this.word.value = (found?.value ?? start.word).replaceAll("?", "0");
    this.origin.replaceChildren();
    if (found) {
      const digits = found.is_known
        ? ""
        : /^0x\?+$/.test(found.value)
          ? ": its value is not known here, and these are zeros"
          : `: only ${found.value} is known of it, and unknown digits count as zeros`;
      this.origin.replaceChildren(prose(`\`${found.name}\` in line ${found.start[0] + 1}${digits}.`));
    }
    void this.decode();
  }

  /** `name=value` of what is said. */
  private said(wanted: (fact: Fact) => boolean): string[] {
    const all = facts(this.descriptor, this.vocabulary!).filter(wanted);
    return all
      .map(({ name }) => [name, this.inputs.get(name)?.value.trim() ?? ""] as const)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => `${name}=${value}`);
  }

  private async decode(): Promise<void> {
    const asked = (this.asked += 1);
    const word = this.word.value.trim();
    const context = this.said((fact) => fact.decodes).join(" ");
    const words = [word, ...this.said(() => true)].join(" ");
    const [decoded, drawn] = await Promise.all([
      this.checker.ask.decode(this.descriptor, word, context),
      this.checker.ask.draw(this.descriptor, words),
    ]);
    if (asked !== this.asked) return;
    const refused = isRefused(decoded) ? decoded : isRefused(drawn) ? drawn : undefined;
    this.refuse(this.refusal, refused);
    this.word.setAttribute("aria-invalid", String(isRefused(decoded)));
    if (isRefused(decoded)) {
      this.verdict.replaceChildren();
      this.fields.replaceChildren();
    } else {
      this.show(decoded);
    }
    this.drawing.replaceChildren(...(isRefused(drawn) ? [] : [picture(drawn.svg, "Picture of the descriptor")]));
    this.command.textContent = `ptx-tc draw ${this.descriptor} ${words}`;
  }

  private refuse(where: HTMLElement, refused: Refused | undefined): void {
    if (!refused) {
      where.replaceChildren();
      return;
    }
    const { message, labels, help } = refused.error;
    const remarks = [...labels.map(({ text }) => text), help].filter(Boolean);
    where.replaceChildren(prose([message, ...remarks].join("; ")));
  }

  private show(decoded: Decoded): void {
    this.verdict.replaceChildren(
      decoded.valid
        ? h("p", { class: "valid" }, `Valid (${decoded.table} of the PTX ISA).`)
        : h(
            "ul",
            { class: "problems" },
            ...decoded.problems.map((it) => h("li", {}, prose(it.message), ` (${it.reference})`)),
          ),
    );
    const wrong = new Set(decoded.problems.map((it) => it.field));
    const rows = decoded.fields.map((field, at) => {
      const bits = field.bits.map(([low, high]) => (low === high ? `${low}` : `${high}:${low}`)).reverse();
      return h(
        "tr",
        { class: wrong.has(field.name) && "wrong" },
        h("td", {}, bits.join(", ")),
        h("th", { scope: "row" }, field.name),
        h("td", {}, this.input(decoded, field, decoded.forms[at])),
        h("td", {}, prose(field.meaning)),
      );
    });
    const heads = ["Bits", "Field", "Value", "Meaning"].map((head) => h("th", { scope: "col" }, head));
    // The one who types keeps the place.
    const focused = document.activeElement?.id;
    this.fields.replaceChildren(h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
    if (focused?.startsWith("field-")) document.getElementById(focused)?.focus();
  }

  private input(
    decoded: Decoded,
    field: Decoded["fields"][number],
    form: Decoded["forms"][number] | undefined,
  ): HTMLElement | string {
    if (!form || form.is_fixed) return field.value;
    const id = `field-${field.name}`;
    const change = (event: Event) => {
      const { value } = event.target as HTMLInputElement;
      void this.encode(decoded, field.name, value);
    };
    const attributes = { id, "aria-label": field.name, onchange: change };
    const choices = form.is_flag ? ["no", "yes"] : form.choices;
    if (choices.length > 0 && choices.includes(field.value)) {
      const select = h("select", attributes, ...choices.map((value) => h("option", { value }, value)));
      select.value = field.value;
      return select;
    }
    const input = h("input", { ...attributes, title: form.expected, spellcheck: "false", autocomplete: "off" });
    input.value = field.value;
    return input;
  }

  /** The word with another value of a field. */
  private async encode(decoded: Decoded, name: string, value: string): Promise<void> {
    const fields = decoded.fields
      .filter((_, at) => !decoded.forms[at]?.is_fixed)
      .map((field) => `${field.name}=${field.name === name ? value.trim() : field.value}`);
    const context = this.said((fact) => fact.decodes);
    const encoded = await this.checker.ask.encode(this.descriptor, false, [...fields, ...context].join(" "));
    if (isRefused(encoded)) {
      this.refuse(this.refusal, encoded);
      return;
    }
    this.word.value = encoded.word;
    await this.decode();
  }

  private async drawWords(): Promise<void> {
    const [what = "", ...words] = this.words.value
      .trim()
      .replace(/^ptx-tc draw /, "")
      .split(/\s+/);
    const drawn = await this.checker.ask.draw(what, words.join(" "));
    this.refuse(this.wordsRefusal, isRefused(drawn) ? drawn : undefined);
    this.wordsDrawing.replaceChildren(...(isRefused(drawn) ? [] : [picture(drawn.svg, "Picture of the instruction")]));
  }
}
