// As much of Visual Studio Code's API as the language client needs to run without the editor.

const { EventEmitter } = require("node:events");

class Emitter {
  #events = new EventEmitter();
  event = (listener, self) => {
    const bound = self ? listener.bind(self) : listener;
    this.#events.on("event", bound);
    return new Disposable(() => this.#events.off("event", bound));
  };
  fire(value) {
    this.#events.emit("event", value);
  }
  dispose() {
    this.#events.removeAllListeners();
  }
}

class Disposable {
  constructor(dispose) {
    this.dispose = dispose ?? (() => {});
  }
  static from(...all) {
    return new Disposable(() => all.forEach((it) => it.dispose()));
  }
}

class Uri {
  constructor(text) {
    this.text = text;
    this.scheme = text.slice(0, text.indexOf(":"));
    this.path = text.replace(/^\w+:\/\//, "");
    this.fsPath = this.path;
  }
  static parse(text) {
    return new Uri(text);
  }
  static file(path) {
    return new Uri(`file://${path}`);
  }
  toString() {
    return this.text;
  }
}

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(...ends) {
    const [start, end] =
      ends.length === 4 ? [new Position(ends[0], ends[1]), new Position(ends[2], ends[3])] : ends;
    Object.assign(this, { start, end });
  }
}

class Diagnostic {
  constructor(range, message, severity) {
    Object.assign(this, { range, message, severity });
  }
}

class Hover {
  constructor(contents, range) {
    Object.assign(this, { contents, range });
  }
}

class MarkdownString {
  constructor(value = "") {
    this.value = value;
  }
  appendMarkdown(value) {
    this.value += value;
    return this;
  }
}

class CodeLens {
  constructor(range, command) {
    Object.assign(this, { range, command });
  }
}

class ProcessExecution {
  constructor(process, args) {
    Object.assign(this, { process, args });
  }
}

class Task {
  constructor(definition, scope, name, source, execution) {
    Object.assign(this, { definition, scope, name, source, execution });
  }
}

class TabInputText {
  constructor(uri) {
    this.uri = uri;
  }
}

class CodeActionKind {
  static Empty = new CodeActionKind("");
  constructor(value) {
    this.value = value;
  }
  append(part) {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
}

class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: new Emitter().event };
  cancel() {}
  dispose() {}
}

/** What nothing here looks into: a class to derive from, an enumeration, a namespace. */
function opaque() {
  return new Proxy(class {}, {
    get: (target, key) => (key in target || typeof key === "symbol" ? target[key] : undefined),
  });
}

/** A namespace whose events never happen and whose other functions do nothing, but for `own`. */
function namespace(own) {
  const never = new Emitter().event;
  return new Proxy(own, {
    get(target, key) {
      if (key in target) return target[key];
      if (typeof key !== "string") return undefined;
      if (/^on(Did|Will)/.test(key)) return never;
      return () => new Disposable();
    },
  });
}

/** The module `vscode` with these documents and settings; `seen` collects what the editor is told. */
module.exports = function fake(documents, settings) {
  const seen = { diagnostics: new Map(), providers: {}, errors: [], commands: [], handlers: {}, tasks: [] };
  const collection = () => ({
    set: (uri, found) => seen.diagnostics.set(uri.toString(), found ?? []),
    delete: (uri) => seen.diagnostics.delete(uri.toString()),
    has: (uri) => seen.diagnostics.has(uri.toString()),
    clear: () => seen.diagnostics.clear(),
    dispose: () => {},
  });
  const channel = () => namespace({ append: () => {}, appendLine: () => {}, dispose: () => {} });
  const own = {
    EventEmitter: Emitter, Disposable, Uri, Position, Range, Diagnostic, Hover, MarkdownString,
    CancellationTokenSource, CodeActionKind, TabInputText, CodeLens, ProcessExecution, Task,
    DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
    env: namespace({ appName: "test", language: "en", uriScheme: "test" }),
    version: "1.91.0",
    extensions: namespace({ getExtension: () => undefined, all: [] }),
    commands: namespace({
      registerCommand(name, handler) {
        seen.commands.push(name);
        seen.handlers[name] = handler;
        return new Disposable();
      },
    }),
    tasks: namespace({ executeTask: async (task) => seen.tasks.push(task) }),
    window: namespace({
      visibleTextEditors: documents.map((document) => ({ document })),
      activeTextEditor: { document: documents[0] },
      tabGroups: namespace({
        all: [{ tabs: documents.map((document) => ({ input: new TabInputText(document.uri) })) }],
      }),
      createOutputChannel: channel,
      showErrorMessage: (message) => Promise.resolve(void seen.errors.push(message)),
    }),
    workspace: namespace({
      textDocuments: documents,
      workspaceFolders: undefined,
      isTrusted: true,
      getConfiguration: (section) => {
        const values = section === undefined ? settings : settings[section];
        return { ...values, get: (key, fallback) => values?.[key] ?? fallback };
      },
      createFileSystemWatcher: () => namespace({}),
    }),
    languages: namespace({
      createDiagnosticCollection: collection,
      match: (selector, document) => {
        const wanted = [selector].flat().map((it) => it.language ?? it);
        return wanted.includes(document.languageId) ? 10 : 0;
      },
    }),
  };
  own.languages = new Proxy(own.languages, {
    get(target, key) {
      if (typeof key !== "string" || !/^register\w+Provider$/.test(key)) return target[key];
      return (_selector, provider) => {
        seen.providers[key] = provider;
        return new Disposable();
      };
    },
  });
  const module = new Proxy(own, {
    get(target, key) {
      if (!(key in target) && typeof key === "string" && /^[A-Z]/.test(key)) target[key] = opaque();
      return target[key];
    },
  });
  return { module, seen };
};
