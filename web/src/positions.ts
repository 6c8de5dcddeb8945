// Places of the protocol in a text of the editor.

import type { Text } from "@codemirror/state";

import type { Position } from "./messages.ts";

/** A place of the protocol in a text, which may have become shorter since. */
export function offset(doc: Text, { line, character }: Position): number {
  if (line >= doc.lines) return doc.length;
  const { from, to } = doc.line(line + 1);
  return Math.min(from + character, to);
}
