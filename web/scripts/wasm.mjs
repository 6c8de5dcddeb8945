// Builds src/wasm/: the crate in wasm/ as WebAssembly, and the JavaScript around it.
//
// Cargo needs a standard library for wasm32-unknown-unknown. rustup has one (`rustup target add
// wasm32-unknown-unknown`). Debian's is built from its sources: packages `rustc-web cargo-web rust-web-src lld-19`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const out = join(root, "web/src/wasm");
const targetDirectory = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const TARGET = "wasm32-unknown-unknown";

function run(command, words, environment = {}) {
  const { status, error } = spawnSync(command, words, {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ...environment },
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

function hasRustupTarget() {
  const { stdout } = spawnSync("rustc", ["--print", "sysroot"], { encoding: "utf8" });
  return Boolean(stdout) && existsSync(join(stdout.trim(), "lib/rustlib", TARGET));
}

const cargo = ["build", "--locked", "--profile", "web", "--package", "ptx-tc-web", "--target", TARGET];
if (hasRustupTarget()) {
  run("cargo", [...cargo, "--target-dir", join(targetDirectory, "web")]);
} else if (existsSync("/usr/bin/cargo") && existsSync("/usr/bin/wasm-ld-19")) {
  run("/usr/bin/cargo", [...cargo, "-Zbuild-std=std,panic_abort", "--target-dir", join(targetDirectory, "web")], {
    RUSTC: "/usr/bin/rustc",
    RUSTC_BOOTSTRAP: "1",
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: "wasm-ld-19",
    RUSTUP_TOOLCHAIN: undefined,
  });
} else {
  console.error(
    `no standard library for ${TARGET}: run \`rustup target add ${TARGET}\`,\n` +
      "or install Debian's packages rustc-web, cargo-web, rust-web-src and lld-19",
  );
  process.exit(1);
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
const module = join(targetDirectory, "web", TARGET, "web/ptx_tc_web.wasm");
const bindgen = ["run", "--locked", "--quiet", "--profile", "ci", "--package", "ptx-tc-bindgen", "--", module, out];
run("cargo", bindgen);
