// Starts `ptx-tc lsp` and hands PTX files to it. Everything else is the server's business.

import { ExtensionContext, commands, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const SECTION = "ptx-tc";

let client: LanguageClient | undefined;

/** The settings that the server knows, as it names them. */
const SETTINGS = ["targets", "ptxVersion", "select", "ignore", "severity", "configuration"];

function settings(): Record<string, unknown> {
  const configuration = workspace.getConfiguration(SECTION);
  return Object.fromEntries(SETTINGS.map((name) => [name, configuration.get(name)]));
}

/** PTX, and the languages in whose `asm` statements it stands. */
const LANGUAGES = ["ptx", "cuda-cpp", "cuda", "cpp", "c", "python", "llvm", "mlir", "rust"];

async function start(): Promise<void> {
  const command = workspace.getConfiguration(SECTION).get<string>("path", "ptx-tc");
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: LANGUAGES.map((language) => ({ language })),
    initializationOptions: settings(),
  };
  client = new LanguageClient(SECTION, "ptx-tc", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `ptx-tc: cannot start \`${command} lsp\`. Install it with \`cargo install --path .\`, or set \`ptx-tc.path\`. (${error})`,
    );
  }
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("ptx-tc.restart", async () => {
      await stop();
      await start();
    }),
    workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration(`${SECTION}.path`)) {
        await stop();
        await start();
      } else if (event.affectsConfiguration(SECTION)) {
        await client?.sendNotification("workspace/didChangeConfiguration", { settings: settings() });
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await stop();
}
