// Starts `ptx-tc lsp` and hands PTX files to it. Everything else is the server's business.

import { ExtensionContext, ProcessExecution, Task, TaskScope, commands, tasks, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

const SECTION = "ptx-tc";

let client: LanguageClient | undefined;

/** The settings that the server knows, as it names them. */
const SETTINGS = ["targets", "ptxVersion", "select", "ignore", "severity", "configuration", "codeLens"];

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

/** Runs the kernels of the file with the command line, which draws the run. The server runs those above which it says so. */
async function simulateInTerminal(): Promise<void> {
  const document = window.activeTextEditor?.document;
  if (document?.languageId !== "ptx" || document.uri.scheme !== "file") {
    window.showErrorMessage("ptx-tc: open a file with PTX to simulate it.");
    return;
  }
  // The program reads the file.
  await document.save();
  const command = workspace.getConfiguration(SECTION).get<string>("path", "ptx-tc");
  const execution = new ProcessExecution(command, ["simulate", "--timeline", document.uri.fsPath]);
  await tasks.executeTask(new Task({ type: "process" }, TaskScope.Workspace, "simulate", SECTION, execution));
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
    commands.registerCommand("ptx-tc.simulateInTerminal", simulateInTerminal),
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
