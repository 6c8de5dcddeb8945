/** A finding: a diagnostic of the Language Server Protocol. Lines and columns count from 0, in UTF-16 code units. */
export interface Diagnostic {
  range: { start: Position; end: Position };
  /** 1 error, 2 warning, 3 info. */
  severity: 1 | 2 | 3;
  /** The code of the rule, such as `TC301`. */
  code?: string;
  codeDescription?: { href: string };
  source: string;
  message: string;
}

export interface Position {
  line: number;
  character: number;
}

export type Descriptor = "idesc" | "smem" | "zero-mask";

/** The word of a descriptor. `ptx-tc decode --format json` documents it. */
export interface Word {
  word: string;
  table: string;
  valid: boolean;
  fields: { name: string; bits: [number, number][]; raw: number; value: string; meaning: string }[];
  problems: unknown[];
  masks?: string[];
}

export interface Run {
  /** The document of `ptx-tc simulate --format json`. */
  document: { kernels: { kernel: string; verdict: "clean" | "findings" | "incomplete"; diagnostics: unknown[] }[] };
  /** What the program shows people. */
  text: string;
  /** The launch file that repeats what is shown, if launches were assumed. */
  launch?: string;
  timeline_svg?: string;
  barriers_svg?: string;
  tensor_memory_svg?: string;
}

/** Loads the WebAssembly. All else waits for that. */
export function load(): Promise<void>;

/**
 * What is found in a text. The end of the file's name says which language it is: `kernel.ptx`, `kernel.cu`.
 *
 * `targets` are GPU targets instead of those of the text, `rules` run although they are off by default. Throws a text if
 * one of them does not exist.
 */
export function check(file: string, text: string, options?: { targets?: string[]; rules?: string[] }): Diagnostic[];

/**
 * Runs a kernel of PTX. `launch` is the text of a launch file; without it, several launches are assumed. `budget` are warp
 * instructions after which it ends. Throws a text if the kernel cannot be launched like that.
 */
export function simulate(
  text: string,
  kernel: string,
  options?: { launch?: string; budget?: number; strict?: boolean; seed?: number; late?: boolean },
): Run;

/** `decode("idesc", "0x08200490", "kind=f16")`: the fields of a word. Throws an `Error` if a word makes no sense. */
export function decode(descriptor: Descriptor, word: string, ...context: string[]): Word;

/** `encode("idesc", "kind=f16", "dtype=f32", "a=bf16", "b=bf16", "m=128", "n=256")`: the word that fields make. */
export function encode(descriptor: Descriptor, ...fields: string[]): Word;

/** `draw("ld", "16x256b", "x4")`: what `ptx-tc draw` draws. */
export function draw(what: string, ...words: string[]): { svg: string; text: string; is_wrong: boolean };

/** What a rule is about, in Markdown; nothing if there is no such rule. */
export function explain(rule: string): string | undefined;

/** The version of ptx-tc. */
export function version(): string;
