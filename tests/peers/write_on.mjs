// The terminal agent's own writer, driven line by line.
//
//   node write_on.mjs FOLDER CWD SESSIONS
//
// FOLDER is where the packages are installed. Each line on standard input is [METHOD, ...ARGUMENTS] of a session manager;
// the answer on standard output is {"file", "leaf"}.
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const [folder, cwd, sessions] = process.argv.slice(2);
const packages = join(resolve(folder), "node_modules/@earendil-works");
const { SessionManager } = await import(join(packages, "pi-coding-agent/dist/core/session-manager.js"));

const manager = SessionManager.create(cwd, sessions);
for await (const line of createInterface({ input: process.stdin })) {
  const [method, ...args] = JSON.parse(line);
  manager[method](...args);
  console.log(JSON.stringify({ file: manager.getSessionFile(), leaf: manager.getLeafId() }));
}
