// Elements of the page.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

/** `h("button", { type: "button", onclick: go }, "Go")`: text is text, never markup. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** The element with this id. */
export function byId<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

/** Text with `code` between backquotes. */
export function prose(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  text.split("`").forEach((part, at) => {
    if (part) fragment.append(at % 2 === 1 ? h("code", {}, part) : part);
  });
  return fragment;
}

/** How the page looks. */
export type Theme = "system" | "light" | "dark";

let theme: Theme = "system";

/** A picture in a root of its own: its styles are for it alone. */
class PtxPicture extends HTMLElement {
  private svg = "";

  constructor() {
    super();
    this.attachShadow({ mode: "open" });
  }

  connectedCallback(): void {
    document.addEventListener("theme", this.render);
  }

  disconnectedCallback(): void {
    document.removeEventListener("theme", this.render);
  }

  set picture(svg: string) {
    this.svg = svg;
    this.render();
  }

  private render = () => {
    // The picture follows the system; the page may have been told otherwise.
    const dark = "@media(prefers-color-scheme:dark)";
    const wanted = { system: dark, light: "@media not all", dark: "@media all" }[theme];
    const style = "<style>:host{display:block}svg{display:block;max-width:none}</style>";
    this.shadowRoot!.innerHTML = style + this.svg.replace(dark, wanted);
  };
}

customElements.define("ptx-picture", PtxPicture);

/** A picture that the keyboard can scroll. */
export function picture(svg: string, label: string): HTMLElement {
  const element = document.createElement("ptx-picture") as PtxPicture;
  element.picture = svg;
  return h("div", { class: "picture", tabindex: 0, role: "region", "aria-label": label }, element);
}

export function setTheme(wanted: Theme): void {
  theme = wanted;
  document.documentElement.dataset["theme"] = wanted;
  document.dispatchEvent(new Event("theme"));
}
