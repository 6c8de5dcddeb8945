// Permalinks. What is shared stands behind the `#`, which browsers do not send.

import { LANGUAGES, type Language } from "./editor.ts";

export interface Shared {
  text: string;
  language: Language;
  pane?: string;
  kernel?: string;
  launch?: string;
  targets?: string;
  /** Rules that are off by default. */
  rules?: string;
}

const VERSION = "1";

/** A link with more than that makes no text. */
const MOST = 64 * 1024 * 1024;

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    length += value.length;
    if (length > MOST) {
      await reader.cancel();
      throw new Error("the link has too much in it");
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
}

/** `#v1=...` */
export async function fragment(shared: Shared): Promise<string> {
  const json = new TextEncoder().encode(JSON.stringify(shared));
  return `#v${VERSION}=${base64(await through(json, new CompressionStream("deflate-raw")))}`;
}

/** What a fragment says: a text, an example by its name, or nothing that is understood. */
export async function read(hash: string): Promise<Shared | { example: string } | undefined> {
  const [name, value] = hash.replace(/^#/, "").split("=", 2);
  if (!name || !value) return undefined;
  if (name === "example" || name === "rule") return { example: value };
  if (name !== `v${VERSION}`) return undefined;
  const bytes = await through(fromBase64(value), new DecompressionStream("deflate-raw"));
  const said = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown> | null;
  const word = (name: string) => {
    const value = said && Object.hasOwn(said, name) ? said[name] : undefined;
    return typeof value === "string" ? value : undefined;
  };
  const [text, language] = [word("text"), word("language")];
  if (text === undefined || language === undefined || !Object.hasOwn(LANGUAGES, language)) return undefined;
  const shared: Shared = { text, language: language as Language };
  for (const name of ["pane", "kernel", "launch", "targets", "rules"] as const) {
    const value = word(name);
    if (value !== undefined) shared[name] = value;
  }
  return shared;
}
