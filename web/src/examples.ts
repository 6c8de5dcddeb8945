// Texts to start from: those of the documentation, and one of each family of rules.

import kernelPtx from "../../docs/kernel.ptx?raw";
import gemmToml from "../../docs/simulation/gemm.toml?raw";
import gemmPtx from "../../docs/simulation/gemm.ptx?raw";
import hangPtx from "../../docs/simulation/hang.ptx?raw";
import racePtx from "../../docs/simulation/race.ptx?raw";
import tmemCuh from "../../docs/tmem.cuh?raw";
import type { Shared } from "./share.ts";

export interface Example extends Shared {
  title: string;
}

const run = { language: "ptx", pane: "run", launch: gemmToml, kernel: "gemm" } as const;

export const EXAMPLES: Record<string, Example> = {
  kernel: { title: "Mistakes in a kernel", text: kernelPtx, language: "ptx" },
  cuda: { title: "Mistakes in CUDA", text: tmemCuh, language: "cuda" },
  gemm: { title: "A GEMM", text: gemmPtx, ...run },
  hang: { title: "A GEMM that hangs", text: hangPtx, ...run },
  race: { title: "A GEMM with a race", text: racePtx, ...run },
};

/** Rules whose examples are in the menu; all others are behind the links of their pages. */
export const FAMILIES: [string, string][] = [
  ["TC102", "Form: a qualifier that does not exist"],
  ["TC201", "Targets: an instruction that the GPU lacks"],
  ["TC301", "Allocation: a number of columns"],
  ["TC408", "Data movement: lanes of another warp"],
  ["TC501", "Multiply: scale factors"],
  ["TC603", "Descriptors: a shape"],
  ["TC704", "Order: a commit that is missing"],
  ["TC801", "Barriers"],
  ["TC901", "Assembly in CUDA"],
];

/** The example of a rule, which is a file beside the page. */
export async function ofRule(code: string): Promise<Shared | undefined> {
  if (!/^(TC|SIM)\d{3}$/.test(code)) return undefined;
  const answer = await fetch(`examples/${code}.json`);
  if (!answer.ok) return undefined;
  return (await answer.json()) as Shared;
}
