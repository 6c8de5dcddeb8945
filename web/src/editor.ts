// The editor: CodeMirror, with the language server behind it.

import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import {
  formatKeymap,
  hoverTooltips,
  jumpToDefinitionKeymap,
  LSPClient,
  renameKeymap,
  serverCompletion,
  signatureHelp,
} from "@codemirror/lsp-client";
import { type Diagnostic as Mark, lintGutter, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import {
  type ChangeSet,
  Compartment,
  EditorState,
  type Extension,
  type StateEffect,
  type Text,
} from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { basicSetup } from "codemirror";
import DOMPurify from "dompurify";

import { setLines, shownLines } from "./lines.ts";
import type { CodeAction, Diagnostic, Position, Range } from "./messages.ts";
import { offset } from "./positions.ts";
import { semanticTokens } from "./tokens.ts";
import type { Checker } from "./workers.ts";

/** What a text can be. The end of its name tells the checker. */
export const LANGUAGES = {
  ptx: { title: "PTX", file: "kernel.ptx" },
  cuda: { title: "CUDA C++", file: "kernel.cu" },
  python: { title: "Python", file: "kernel.py" },
  rust: { title: "Rust", file: "kernel.rs" },
  llvm: { title: "LLVM IR", file: "kernel.ll" },
} as const;

export type Language = keyof typeof LANGUAGES;

/** Longer texts are not checked here, in code units: the page has to answer, and a phone has little memory. */
export const LONGEST = 16 * 1024 * 1024;

/** Who is told of what. */
export interface Listeners {
  changed(changes: ChangeSet): void;
  found(diagnostics: Diagnostic[]): void;
  opened(): void;
  checked(milliseconds: number): void;
  tooLong(): void;
  clicked(at: Position): void;
}

const SEVERITIES = { 1: "error", 2: "warning", 3: "info", 4: "hint" } as const;

const hostLanguages: Record<Language, () => Extension> = {
  ptx: () => [],
  cuda: cpp,
  python,
  rust: () => [],
  llvm: () => [],
};

export class Editor {
  readonly view: EditorView;
  language: Language = "ptx";
  private readonly client: LSPClient;
  private readonly server = new Compartment();
  private diagnostics: Diagnostic[] = [];
  private offered = new Map<Diagnostic, CodeAction[]>();
  /** Whether the checker has seen the text as it is. */
  isChecked = false;
  private opened = 0;
  private isTooLong = false;
  /** Whether something was typed that was not sent yet. */
  private isTyped = false;
  private syncing: ReturnType<typeof setTimeout> | undefined;

  constructor(
    parent: HTMLElement,
    private readonly checker: Checker,
    private readonly listeners: Listeners,
  ) {
    this.client = new LSPClient({
      timeout: 20_000,
      sanitizeHTML: (html) => DOMPurify.sanitize(html),
      extensions: [
        hoverTooltips(),
        serverCompletion(),
        signatureHelp(),
        keymap.of([...formatKeymap, ...renameKeymap, ...jumpToDefinitionKeymap]),
      ],
      notificationHandlers: {
        "textDocument/publishDiagnostics": (_, params) => {
          if (params.uri === this.uri) this.show(params.diagnostics);
          return true;
        },
        "ptx-tc/checked": (_, params) => {
          if (params.uri !== this.uri) return true;
          this.isChecked = params.version === this.client.workspace.getFile(this.uri)?.version && !this.isTyped;
          listeners.checked(params.milliseconds);
          return true;
        },
      },
    }).connect(checker.transport);
    this.view = new EditorView({ parent, state: this.state("") });
  }

  /** A text without a past. */
  private state(doc: string): EditorState {
    const { listeners } = this;
    return EditorState.create({
      doc,
      extensions: [
        basicSetup,
        keymap.of([{ key: "F8", run: nextDiagnostic }]),
        lintGutter(),
        shownLines,
        EditorView.contentAttributes.of({ "aria-label": "Text to check", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (!update.docChanged) return;
          this.isChecked = false;
          this.isTyped = true;
          listeners.changed(update.changes);
          // What the client sends by itself waits for half a second.
          clearTimeout(this.syncing);
          this.syncing = setTimeout(() => this.sync(), 20);
        }),
        EditorView.domEventHandlers({
          click: (event, view) => {
            const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
            if (at !== null) listeners.clicked(this.position(at));
          },
        }),
        this.server.of([]),
      ],
    });
  }

  /** The address of the text: another one for each that is opened. */
  get uri(): string {
    return `file:///${this.opened}/${LANGUAGES[this.language].file}`;
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  position(at: number): Position {
    const line = this.view.state.doc.lineAt(at);
    return { line: line.number - 1, character: at - line.from };
  }

  /** Shows another text. */
  open(text: string, language: Language): void {
    // The server closes the old text before it opens the new one.
    this.view.dispatch({ effects: this.server.reconfigure([]) });
    this.opened += 1;
    this.language = language;
    this.diagnostics = [];
    // Undo does not lead back to the text before, which may be of another language.
    this.view.setState(this.state(text));
    this.isChecked = false;
    this.listeners.opened();
    this.connect();
  }

  /** Sends what was typed. */
  private sync(): void {
    this.isTyped = false;
    const isTooLong = this.view.state.doc.length > LONGEST;
    if (isTooLong === this.isTooLong) {
      this.client.sync();
      return;
    }
    // The server keeps no text that is too long; one that is no longer so is another one for it.
    this.view.dispatch({ effects: this.server.reconfigure([]) });
    this.opened += 1;
    this.connect();
  }

  private connect(): void {
    this.isTooLong = this.view.state.doc.length > LONGEST;
    this.isTyped = false;
    if (this.isTooLong) {
      this.show([]);
      this.listeners.tooLong();
      return;
    }
    const tokens = semanticTokens(this.client, () => this.uri);
    const extensions = [hostLanguages[this.language](), this.client.plugin(this.uri, this.language), tokens];
    this.view.dispatch({ effects: this.server.reconfigure(extensions) });
  }

  /** Opens the text again: the worker behind the server is a new one. */
  reconnect(): void {
    this.view.dispatch({ effects: this.server.reconfigure([]) });
    this.client.disconnect();
    this.client.connect(this.checker.transport);
    this.opened += 1;
    this.connect();
  }

  /** Marks the findings. */
  private markFindings(): void {
    const { doc } = this.view.state;
    const marks = this.diagnostics.map((it): Mark => {
      const from = offset(doc, it.range.start);
      const to = Math.max(from, offset(doc, it.range.end));
      return {
        from,
        to,
        severity: SEVERITIES[it.severity ?? 1],
        source: it.code ?? "ptx-tc",
        message: it.message,
        actions: (this.offered.get(it) ?? []).map((action) => ({
          name: action.title.replaceAll("`", ""),
          apply: () => this.apply(action, doc),
        })),
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  private show(diagnostics: Diagnostic[]): void {
    this.diagnostics = diagnostics;
    this.offered = new Map();
    this.markFindings();
    this.listeners.found(diagnostics);
  }

  /** Shows the repairs of findings beside them, too. */
  offer(offered: Map<Diagnostic, CodeAction[]>): void {
    this.offered = offered;
    this.markFindings();
  }

  /** The repairs of a finding, or of all if none is named. */
  async fixes(finding?: Diagnostic): Promise<CodeAction[]> {
    this.client.sync();
    const range = finding?.range ?? {
      start: { line: 0, character: 0 },
      end: this.position(this.view.state.doc.length),
    };
    const context = {
      diagnostics: finding ? [finding] : this.diagnostics,
      only: finding ? ["quickfix"] : ["source.fixAll.ptx-tc"],
    };
    const params = { textDocument: { uri: this.uri }, range, context };
    return (await this.client.request<typeof params, CodeAction[] | null>("textDocument/codeAction", params)) ?? [];
  }

  /** Applies all repairs that are safe. */
  async fixAll(): Promise<void> {
    const { doc } = this.view.state;
    const action = (await this.fixes()).find((it) => it.edit?.changes);
    if (action) this.apply(action, doc);
  }

  /** Applies a repair of a text, if it is still that text. */
  apply(action: CodeAction, of: Text): void {
    const { doc } = this.view.state;
    if (doc !== of) return;
    const edits = Object.values(action.edit?.changes ?? {}).flat();
    const changes = edits.map(({ range, newText }) => ({
      from: offset(doc, range.start),
      to: offset(doc, range.end),
      insert: newText,
    }));
    this.view.dispatch({ changes, userEvent: "input.fix" });
  }

  /** Lays the text out; whether it was done. */
  async format(): Promise<boolean> {
    const { doc } = this.view.state;
    this.client.sync();
    const params = { textDocument: { uri: this.uri }, options: { tabSize: 4, insertSpaces: true } };
    type Edits = { range: Range; newText: string }[] | null;
    const edits = await this.client.request<typeof params, Edits>("textDocument/formatting", params).catch(() => null);
    if (!edits) return false;
    this.apply({ title: "", edit: { changes: { [this.uri]: edits } } }, doc);
    return true;
  }

  /** Puts the cursor there, in view. */
  reveal(range: Range): void {
    const { doc } = this.view.state;
    const [anchor, head] = [offset(doc, range.start), offset(doc, range.end)];
    this.view.dispatch({ selection: { anchor, head }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }

  /** Marks lines, from 1, and brings the first into view if `follow` says so. */
  mark(lines: number[], follow: boolean): void {
    const effects: StateEffect<unknown>[] = [setLines.of(lines)];
    const first = lines.find((line) => line >= 1 && line <= this.view.state.doc.lines);
    if (follow && first) {
      effects.push(EditorView.scrollIntoView(this.view.state.doc.line(first).from, { y: "center" }));
    }
    this.view.dispatch({ effects });
  }
}
