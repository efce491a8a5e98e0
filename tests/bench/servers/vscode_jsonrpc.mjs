// The library on which language servers in Node are built, with one method that gives back its parameters.
//
//   node vscode_jsonrpc.mjs FOLDER     FOLDER is where the package is installed
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = createRequire(
  join(resolve(process.argv[2]), "package.json"),
)("vscode-jsonrpc/node");

const connection = createMessageConnection(new StreamMessageReader(process.stdin), new StreamMessageWriter(process.stdout));
connection.onRequest("initialize", () => ({ capabilities: {} }));
connection.onRequest("bench/echo", (params) => params);
connection.onClose(() => process.exit(0));
connection.listen();
