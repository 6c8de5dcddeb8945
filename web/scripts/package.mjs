// Writes package-dist/: the npm package with the WebAssembly.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const web = join(import.meta.dirname, "..");
const out = join(web, "package-dist");
const { version } = JSON.parse(readFileSync(join(web, "package.json"), "utf8"));

rmSync(out, { recursive: true, force: true });
mkdirSync(out);
for (const name of ["index.js", "index.d.ts", "README.md"]) copyFileSync(join(web, "package", name), join(out, name));
for (const name of ["ptx_tc_web.js", "ptx_tc_web_bg.wasm"]) copyFileSync(join(web, "src/wasm", name), join(out, name));
for (const name of ["LICENSE-APACHE", "LICENSE-MIT"]) copyFileSync(join(web, "..", name), join(out, name));
const manifest = {
  name: "ptx-tc",
  version,
  description: "Checks PTX for Blackwell's tensor cores and runs kernels without a GPU, as WebAssembly.",
  keywords: ["ptx", "cuda", "blackwell", "tcgen05", "linter"],
  license: "Apache-2.0 OR MIT",
  homepage: "https://ptx-tc.github.io/",
  repository: { type: "git", url: "git+https://github.com/ptx-tc/ptx-tc.git", directory: "web" },
  type: "module",
  exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  types: "./index.d.ts",
  sideEffects: false,
  engines: { node: ">=20" },
};
writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
