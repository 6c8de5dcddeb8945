// Colours of words, as the language server says what they are.

import type { LSPClient } from "@codemirror/lsp-client";
import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

import type { Range } from "./messages.ts";
import { offset } from "./positions.ts";

/** Colours words as the server says what they are, those in view. */
export function semanticTokens(client: LSPClient, uri: () => string) {
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet = Decoration.none;
      private asked = 0;
      private due: ReturnType<typeof setTimeout> | undefined;

      constructor(private readonly view: EditorView) {
        this.askSoon(0);
      }

      update(update: ViewUpdate): void {
        if (update.docChanged) this.decorations = this.decorations.map(update.changes);
        if (update.docChanged || update.viewportChanged) this.askSoon(30);
      }

      destroy(): void {
        clearTimeout(this.due);
        this.asked += 1;
      }

      private askSoon(milliseconds: number): void {
        clearTimeout(this.due);
        this.due = setTimeout(() => void this.ask(), milliseconds);
      }

      private async ask(): Promise<void> {
        const asked = (this.asked += 1);
        await client.initializing;
        const { doc } = this.view.state;
        client.sync();
        const { from, to } = this.view.viewport;
        const [first, last] = [doc.lineAt(from).number - 1, doc.lineAt(to).number];
        const range: Range = { start: { line: first, character: 0 }, end: { line: last, character: 0 } };
        type Tokens = { data: number[] } | null;
        const params = { textDocument: { uri: uri() }, range };
        const tokens = await client
          .request<typeof params, Tokens>("textDocument/semanticTokens/range", params)
          .catch(() => null);
        if (asked !== this.asked || doc !== this.view.state.doc || !tokens) return;
        const legend = client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes ?? [];
        const builder = new RangeSetBuilder<Decoration>();
        let [line, character] = [0, 0];
        for (let at = 0; at + 4 < tokens.data.length; at += 5) {
          const [lines, characters, length, type] = tokens.data.slice(at, at + 4) as [number, number, number, number];
          line += lines;
          character = lines > 0 ? characters : character + characters;
          const start = offset(doc, { line, character });
          const end = Math.min(start + length, doc.length);
          if (start < end) builder.add(start, end, Decoration.mark({ class: `cm-t-${legend[type] ?? "other"}` }));
        }
        this.decorations = builder.finish();
        this.view.dispatch({});
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}
