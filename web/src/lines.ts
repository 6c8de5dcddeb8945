// Lines of the editor that something else on the page is about.

import { RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

export const setLines = StateEffect.define<number[]>();

export const shownLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(lines, transaction) {
    lines = lines.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLines)) continue;
      const { doc } = transaction.state;
      const builder = new RangeSetBuilder<Decoration>();
      for (const line of [...new Set(effect.value)].sort((one, other) => one - other)) {
        if (line < 1 || line > doc.lines) continue;
        const { from } = doc.line(line);
        builder.add(from, from, Decoration.line({ class: "cm-shown" }));
      }
      lines = builder.finish();
    }
    return lines;
  },
  provide: (field) => EditorView.decorations.from(field),
});
