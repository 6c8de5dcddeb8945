import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

const root = resolve(import.meta.dirname, "..");
const LANGUAGES: Record<string, string> = { ptx: "ptx", cu: "cuda", cuh: "cuda", py: "python", rs: "rust", ll: "llvm" };

/** What the page runs only if it is told to: the documentation of the rule says that it is off. */
const OFF = new Set(["TC313", "TC708", "TC717", "TC902", "TC956", "TC957", "SIM508"]);

/** Shown by no text, but by a limit. */
const UNSHOWN = new Set(["TC005"]);

/** The first example of what each rule finds, as a file that the page loads when it is asked for. */
function ruleExamples(): Map<string, string> {
  const examples = new Map<string, string>();
  const add = (code: string, folder: string, files: string[], pane?: string) => {
    const file = files.sort().find((name) => LANGUAGES[name.split(".").at(-1)!]);
    if (!file || examples.has(code) || UNSHOWN.has(code)) return;
    const text = readFileSync(join(folder, file), "utf8");
    const rules = OFF.has(code) ? code : undefined;
    examples.set(code, JSON.stringify({ text, language: LANGUAGES[file.split(".").at(-1)!], pane, rules }));
  };
  const rules = join(root, "fixtures/rules");
  for (const code of readdirSync(rules)) {
    const folder = join(rules, code);
    add(
      code,
      folder,
      readdirSync(folder).filter((name) => name.startsWith("invalid")),
    );
  }
  const findings = join(root, "fixtures/simulation/findings");
  const files = readdirSync(findings);
  for (const code of new Set(files.map((name) => name.slice(0, 6)))) {
    add(
      code,
      findings,
      files.filter((name) => name.startsWith(code)),
      "run",
    );
  }
  return examples;
}

/** The examples, and a service worker that keeps what the page needs: after the first load it works offline. */
function assets(): Plugin {
  return {
    name: "ptx-tc",
    configureServer(server) {
      const examples = ruleExamples();
      server.middlewares.use((request, response, next) => {
        const code = /\/examples\/(\w+)\.json$/.exec(request.url ?? "")?.[1];
        const example = code && examples.get(code);
        if (!example) return next();
        response.setHeader("content-type", "application/json").end(example);
      });
    },
    generateBundle(_, bundle) {
      for (const [code, source] of ruleExamples()) {
        this.emitFile({ type: "asset", fileName: `examples/${code}.json`, source });
      }
      const needed = Object.keys(bundle).filter((name) => !name.endsWith(".map"));
      const version = createHash("sha256").update(needed.sort().join("\n")).digest("hex").slice(0, 12);
      const source = readFileSync(join(import.meta.dirname, "src/service-worker.js"), "utf8")
        .replace('"VERSION"', JSON.stringify(version))
        .replace('["NEEDED"]', JSON.stringify(["./", ...needed]));
      this.emitFile({ type: "asset", fileName: "service-worker.js", source });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [assets()],
  worker: { format: "es" },
  build: { target: "es2022", assetsInlineLimit: 0, chunkSizeWarningLimit: 1500 },
  server: { fs: { allow: [root] } },
});
