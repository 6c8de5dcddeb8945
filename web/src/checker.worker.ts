// The checker beside the page: a language server for one text, and the workbench.

import init, * as core from "./wasm/ptx_tc_web.js";
import wasmUrl from "./wasm/ptx_tc_web_bg.wasm?url";
import type { FromWorker, Range, ToWorker } from "./messages.ts";

const scope = self as unknown as DedicatedWorkerGlobalScope;
const say = (message: FromWorker) => scope.postMessage(message);

let initialize = "{}";
let editor: core.Editor | undefined;
let open: { uri: string; version: number } | undefined;
let options = { targets: "", rules: "" };
let isParsed = false;
let isChecked = false;
let due: ReturnType<typeof setTimeout> | undefined;

/** The editor with its tree. */
function parsed(): core.Editor | undefined {
  if (editor && !isParsed) {
    editor.parse();
    isParsed = true;
  }
  return editor;
}

function opened(uri: string, text: string): void {
  editor?.free();
  editor = new core.Editor(initialize, uri, text);
  configure();
  checkSoon();
}

/** What cannot be configured is left as it was: the page says so. */
function configure(): void {
  editor?.set_targets(options.targets);
  editor?.set_rules(options.rules);
}

/** Checks when all that has been typed meanwhile is known. */
function checkSoon(): void {
  isParsed = isChecked = false;
  clearTimeout(due);
  due = setTimeout(() => guarded(check), 0);
}

function check(): void {
  if (!open || !editor || isChecked) return;
  const { uri, version } = open;
  const started = performance.now();
  const diagnostics = JSON.parse(editor.check());
  isParsed = isChecked = true;
  const milliseconds = performance.now() - started;
  notify("textDocument/publishDiagnostics", { uri, version, diagnostics });
  notify("ptx-tc/checked", { uri, version, milliseconds });
}

const notify = (method: string, params: unknown) =>
  say({ protocol: JSON.stringify({ jsonrpc: "2.0", method, params }) });

interface Message {
  id?: number;
  method?: string;
  params?: any;
}

function serve({ id, method, params }: Message): void {
  const answer = (result: unknown) => say({ protocol: JSON.stringify({ jsonrpc: "2.0", id, result }) });
  switch (method) {
    case "initialize": {
      initialize = JSON.stringify(params);
      const asked = new core.Editor(initialize, "file:///none.ptx", "");
      answer(JSON.parse(asked.initialized()));
      asked.free();
      return;
    }
    case "textDocument/didOpen": {
      const { uri, version, text } = params.textDocument;
      open = { uri, version };
      opened(uri, text);
      return;
    }
    case "textDocument/didChange": {
      const { uri, version } = params.textDocument;
      open = { uri, version };
      const changes = params.contentChanges as { range?: Range; text: string }[];
      const whole = changes.findLast((change) => !change.range);
      if (whole || !editor) {
        opened(uri, whole?.text ?? "");
        return;
      }
      const place = (at: Range["start"]) => [at.line, at.character];
      editor.replace(
        JSON.stringify(
          changes.map(({ range, text }) => ({ start: place(range!.start), end: place(range!.end), text })),
        ),
      );
      checkSoon();
      return;
    }
    case "textDocument/didClose":
      clearTimeout(due);
      editor?.free();
      editor = open = undefined;
      return;
    case "shutdown":
      answer(null);
      return;
    default:
  }
  if (id === undefined || method === undefined) return;
  // Repairs are those of findings.
  if (method === "textDocument/codeAction") check();
  try {
    answer(parsed() ? JSON.parse(editor!.request(method, JSON.stringify(params))) : null);
  } catch (error) {
    if (typeof error !== "string") throw error;
    say({ protocol: JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32803, message: error } }) });
  }
}

const calls: Record<string, (...words: any[]) => unknown> = {
  configure(targets: string, rules: string) {
    // Tried on a text of its own first: what is refused here is never tried again.
    const tried = new core.Editor("{}", "file:///none.ptx", "");
    try {
      tried.set_targets(targets);
      tried.set_rules(rules);
    } finally {
      tried.free();
    }
    options = { targets, rules };
    configure();
    checkSoon();
  },
  kernels: () => JSON.parse(parsed()?.kernels() ?? "[]"),
  tensorMemory: (kernel: string) => parsed()?.tensor_memory(kernel) ?? null,
  barriers: (kernel: string) => parsed()?.barriers(kernel) ?? null,
  descriptors: (line: number, character: number) => JSON.parse(parsed()?.descriptors(line, character) ?? "[]"),
  decode: (descriptor: string, word: string, context: string) => JSON.parse(core.decode(descriptor, word, context)),
  encode: (descriptor: string, matrix: boolean, fields: string) => JSON.parse(core.encode(descriptor, matrix, fields)),
  draw: (what: string, words: string) => JSON.parse(core.draw(what, words)),
  explain: (rule: string) => core.explain(rule) ?? null,
  vocabulary: () => JSON.parse(core.vocabulary()),
  version: () => core.version(),
};

/** After a panic the instance is of no use: the page starts another worker. */
function guarded(work: () => void): void {
  try {
    work();
  } catch (error) {
    say({ failed: String(error) });
  }
}

async function load(): Promise<void> {
  const answer = await fetch(wasmUrl);
  if (!answer.ok) throw new Error(`${answer.status} for the WebAssembly`);
  // Not each server names its type.
  const isNamed = answer.headers.get("content-type")?.startsWith("application/wasm");
  const module = isNamed
    ? await WebAssembly.compileStreaming(answer)
    : await WebAssembly.compile(await answer.arrayBuffer());
  await init({ module_or_path: module });
  say({ module });
}

const ready = load();
ready.catch((error: unknown) => say({ unloaded: String(error) }));

scope.onmessage = async ({ data }: MessageEvent<ToWorker>) => {
  try {
    await ready;
  } catch {
    return;
  }
  guarded(() => {
    if ("protocol" in data) {
      serve(JSON.parse(data.protocol));
    } else if ("call" in data) {
      try {
        say({ id: data.id, answer: calls[data.call]!(...data.words) });
      } catch (error) {
        if (typeof error !== "string") throw error;
        say({ id: data.id, refused: error });
      }
    }
  });
};
