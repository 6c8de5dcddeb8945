// What goes between the page and its workers.

/** A place in a text as the Language Server Protocol counts: from 0, columns in UTF-16 code units. */
export interface Position {
  line: number;
  character: number;
}

export interface Range {
  start: Position;
  end: Position;
}

/** A finding in the editor's text. */
export interface Diagnostic {
  range: Range;
  severity?: 1 | 2 | 3 | 4;
  code?: string;
  codeDescription?: { href: string };
  message: string;
  relatedInformation?: { location: { range: Range }; message: string }[];
}

/** A repair of findings. */
export interface CodeAction {
  title: string;
  kind?: string;
  diagnostics?: Diagnostic[];
  edit?: { changes?: Record<string, { range: Range; newText: string }[]> };
}

/** What a word in words is about. */
export type DescriptorName = "idesc" | "smem" | "zero-mask";

/** A descriptor in the text. */
export interface FoundDescriptor {
  descriptor: DescriptorName;
  name: string;
  value: string;
  is_known: boolean;
  start: [number, number];
  end: [number, number];
  context: string[];
}

/** Words that make no sense. */
export interface Refused {
  error: { message: string; text: string; labels: { span: [number, number]; text: string }[]; help: string | null };
}

/** A word and its fields. */
export interface Decoded {
  word: string;
  table: string;
  valid: boolean;
  fields: { name: string; bits: [number, number][]; raw: number; value: string; meaning: string }[];
  problems: { field: string; message: string; reference: string }[];
  masks?: string[];
  forms: { name: string; expected: string; choices: string[]; is_flag: boolean; is_fixed: boolean }[];
}

export interface Encoded {
  word: string;
  note?: string;
}

export interface Drawn {
  svg: string;
  text: string;
  is_wrong: boolean;
}

/** Places are lines and columns from 1, columns in Unicode scalar values. */
export interface Span {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}

export interface RunFinding {
  code: string;
  name: string;
  severity: string;
  message: string;
  note?: string;
  help: string | null;
  url: string;
  span: Span;
  labels: { span: Span; message: string }[];
}

export interface TimelineTrack {
  cta: number;
  name: string;
  life: [number, number] | null;
  stands: string | null;
  slices: { start: number; end: number; kind: string; name: string; line: number; is_open: boolean }[];
  events: { at: number; sign: string; name: string; line: number; is_finding: boolean }[];
}

export interface Timeline {
  kernel: string;
  tracks: TimelineTrack[];
  barriers: [string, string][];
  end: number;
  left_out: number;
}

/** What became of a run. */
export interface Ran {
  document: {
    kernels: {
      kernel: string;
      name: string;
      verdict: "clean" | "findings" | "incomplete";
      reasons: { message: string; help?: string; span?: Span }[];
      assumed: string[];
      diagnostics: RunFinding[];
      printed?: { text: string }[];
      statistics: { clusters: number; warp_instructions: number; asynchronous_operations: number };
    }[];
  };
  text: string;
  launch?: string;
  timeline?: Timeline;
  timeline_svg?: string;
  barriers_svg?: string;
  tensor_memory_svg?: string;
}

/** What can be asked of the checker beside the protocol. All of it is text or JSON. */
export interface CheckerCalls {
  /** Targets instead of those of the text, and rules that are off by default. */
  configure(targets: string, rules: string): void;
  kernels(): string[];
  tensorMemory(kernel: string): string | null;
  barriers(kernel: string): string | null;
  descriptors(line: number, character: number): FoundDescriptor[];
  decode(descriptor: DescriptorName, word: string, context: string): Decoded | Refused;
  encode(descriptor: DescriptorName, matrix: boolean, fields: string): Encoded | Refused;
  draw(what: string, words: string): Drawn | Refused;
  explain(rule: string): string | null;
  vocabulary(): { kinds: string[]; types: string[]; scale_vectors: string[]; targets: string[] };
  version(): string;
}

/** What the runner does. */
export interface RunnerCalls {
  template(text: string, kernel: string): string;
  run(text: string, kernel: string, launch: string, options: string): Ran;
}

/** What a worker is sent. */
export type ToWorker =
  { module: WebAssembly.Module } | { protocol: string } | { id: number; call: string; words: unknown[] };

/** What it says. */
export type FromWorker =
  | { module: WebAssembly.Module }
  | { protocol: string }
  | { id: number; answer: unknown }
  | { id: number; refused: string }
  | { failed: string }
  | { unloaded: string };
