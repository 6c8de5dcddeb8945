// What a kernel does with Tensor Memory and mbarriers, as far as that is known without a run.

import { h, picture } from "./elements.ts";
import type { Checker } from "./workers.ts";

export class MemoryMap {
  private readonly kernel = h("select", { id: "map-kernel", onchange: () => void this.draw() });
  private readonly pictures = h("div");
  private drawn = 0;

  constructor(
    root: HTMLElement,
    private readonly checker: Checker,
  ) {
    root.append(h("div", { class: "bar" }, h("label", { for: "map-kernel" }, "Kernel"), this.kernel), this.pictures);
  }

  /** Draws the kernels of the text as it is now. */
  async show(): Promise<void> {
    const kernels = await this.checker.ask.kernels();
    const chosen = this.kernel.value;
    this.kernel.replaceChildren(...kernels.map((name) => h("option", { value: name }, name)));
    if (kernels.includes(chosen)) this.kernel.value = chosen;
    await this.draw();
  }

  private async draw(): Promise<void> {
    const drawn = (this.drawn += 1);
    const kernel = this.kernel.value;
    if (!kernel) {
      this.pictures.replaceChildren(
        h(
          "p",
          {},
          "There is no kernel to draw: an ",
          h("code", {}, ".entry"),
          " in PTX has Tensor Memory. From CUDA or Python, paste the PTX that they compile to.",
        ),
      );
      return;
    }
    const [memory, barriers] = await Promise.all([
      this.checker.ask.tensorMemory(kernel),
      this.checker.ask.barriers(kernel),
    ]);
    if (drawn !== this.drawn) return;
    this.pictures.replaceChildren(
      ...(memory ? [h("h3", {}, "Tensor Memory"), picture(memory, "Tensor Memory")] : []),
      ...(barriers ? [h("h3", {}, "Barriers"), picture(barriers, "Barriers")] : []),
    );
  }
}
