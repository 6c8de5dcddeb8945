// Runs kernels beside the page and its checker. Whoever does not want to wait ends the worker.

import { initSync, Runner } from "./wasm/ptx_tc_web.js";
import type { FromWorker, ToWorker } from "./messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromWorker) => scope.postMessage(message);

let last: { text: string; runner: Runner } | undefined;

function runnerOf(text: string): Runner {
  if (last?.text !== text) {
    last?.runner.free();
    last = undefined;
    last = { text, runner: new Runner("kernel.ptx", text) };
  }
  return last.runner;
}

const calls: Record<string, (...words: any[]) => unknown> = {
  template: (text: string, kernel: string) => runnerOf(text).template(kernel),
  run: (text: string, kernel: string, launch: string, options: string) =>
    JSON.parse(runnerOf(text).run(kernel, launch, options)),
};

scope.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ("module" in data) {
    initSync({ module: data.module });
    return;
  }
  if (!("call" in data)) return;
  try {
    say({ id: data.id, answer: calls[data.call]!(...data.words) });
  } catch (error) {
    // What the crate refuses is a text; all else is a panic, or no memory.
    if (typeof error === "string") say({ id: data.id, refused: error });
    else say({ failed: String(error) });
  }
};
