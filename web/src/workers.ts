// The page's side of its workers.

import type { Transport } from "@codemirror/lsp-client";
import type { CheckerCalls, FromWorker, RunnerCalls, ToWorker } from "./messages.ts";

type Asked<Calls> = {
  [Name in keyof Calls]: Calls[Name] extends (...words: infer Words) => infer Answer
    ? (...words: Words) => Promise<Answer>
    : never;
};

interface Waiting {
  resolve(answer: any): void;
  reject(error: Error): void;
}

/** What a worker refused, in words for people. */
export class Refusal extends Error {}

/** A worker that answers calls. */
abstract class Answering<Calls> {
  private waiting = new Map<number, Waiting>();
  private next = 0;
  protected abstract send(message: ToWorker): void;

  /** `ask.draw("ld", "16x256b")` */
  readonly ask = new Proxy({} as Asked<Calls>, {
    get:
      (_, call: string) =>
      (...words: unknown[]) =>
        this.call(call, words),
  });

  private call(call: string, words: unknown[]): Promise<unknown> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.send({ id, call, words });
    });
  }

  protected answered(message: FromWorker): boolean {
    if (!("id" in message)) return false;
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if ("refused" in message) waiting?.reject(new Refusal(message.refused));
    else waiting?.resolve(message.answer);
    return true;
  }

  protected abandon(why: string): void {
    for (const { reject } of this.waiting.values()) reject(new Refusal(why));
    this.waiting.clear();
  }
}

/** The checker, started again if it fails. */
export class Checker extends Answering<CheckerCalls> {
  private worker!: Worker;
  private heard = new Set<(message: string) => void>();
  module: Promise<WebAssembly.Module>;
  private loaded!: (module: WebAssembly.Module) => void;
  private unloaded!: (error: Refusal) => void;
  private fails = 0;
  /** Whether it is started no more. */
  isDead = false;

  constructor(private readonly failed: (why: string, how: "again" | "dead" | "unloaded") => void) {
    super();
    this.module = new Promise((resolve, reject) => {
      this.loaded = resolve;
      this.unloaded = reject;
    });
    this.module.catch(() => undefined);
    this.start();
  }

  private start(): void {
    this.worker = new Worker(new URL("./checker.worker.ts", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (this.answered(data)) return;
      if ("protocol" in data) for (const hear of this.heard) hear(data.protocol);
      else if ("module" in data) this.loaded(data.module);
      else if ("failed" in data) this.restart(data.failed);
      else if ("unloaded" in data) this.die(data.unloaded, "unloaded");
    };
    this.worker.onerror = (event) => this.die(event.message || "its script is not there", "unloaded");
  }

  private restart(why: string): void {
    this.worker.terminate();
    this.abandon(why);
    this.fails += 1;
    if (this.fails > 3) {
      this.die(why, "dead");
      return;
    }
    this.start();
    this.failed(why, "again");
  }

  private die(why: string, how: "dead" | "unloaded"): void {
    this.isDead = true;
    this.worker.terminate();
    this.unloaded(new Refusal("the checker is not there"));
    this.abandon("the checker is not there");
    this.failed(why, how);
  }

  protected send(message: ToWorker): void {
    if (this.isDead) this.abandon("the checker is not there");
    else this.worker.postMessage(message);
  }

  readonly transport: Transport = {
    send: (protocol) => this.send({ protocol }),
    subscribe: (hear) => void this.heard.add(hear),
    unsubscribe: (hear) => void this.heard.delete(hear),
  };
}

/** A worker that runs kernels; loaded when something runs, and ended to stop it. */
export class Runner extends Answering<RunnerCalls> {
  private worker: Worker | undefined;

  constructor(private readonly module: Promise<WebAssembly.Module>) {
    super();
  }

  protected send(message: ToWorker): void {
    this.module.then(
      (module) => {
        if (!this.worker) {
          this.worker = new Worker(new URL("./runner.worker.ts", import.meta.url), { type: "module" });
          this.worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
            if (!this.answered(data) && "failed" in data) {
              this.stop(`the run failed: ${data.failed}. Please report it, with the text.`);
            }
          };
          // After a new version of the page, the file of the old one is not there.
          this.worker.onerror = (event) =>
            this.stop(event.message || "The simulator could not be loaded. Load the page again.");
          this.worker.postMessage({ module } satisfies ToWorker);
        }
        this.worker.postMessage(message);
      },
      (error: Error) => this.abandon(error.message),
    );
  }

  /** Ends what runs. */
  stop(why: string): void {
    this.worker?.terminate();
    this.worker = undefined;
    this.abandon(why);
  }
}
