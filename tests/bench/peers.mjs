// Measures one of the real implementations.
//
//   node --expose-gc peers.mjs FOLDER VERSION TASK PATH COUNT
//
// FOLDER is where the packages are installed. Standard output is one JSON object; times are seconds.
//   session   open the file COUNT times, build the context at the leaf, append 1,000 messages; the file grows
//   list      list all sessions COUNT times; PI_CODING_AGENT_DIR says where they lie
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";

const [folder, version, task, path, count] = process.argv.slice(2);
const packages = join(resolve(folder), "node_modules/@earendil-works");
const load = (file) => import(pathToFileURL(join(packages, file)));

const peers = {
  "0.83.0": async () => {
    const { JsonlSessionStorage } = await load("pi-agent-core/dist/harness/session/jsonl-storage.js");
    const { Session } = await load("pi-agent-core/dist/harness/session/session.js");
    const { NodeExecutionEnv } = await load("pi-agent-core/dist/harness/env/nodejs.js");
    const environment = new NodeExecutionEnv({ cwd: tmpdir() });
    return {
      open: async () => new Session(await JsonlSessionStorage.open(environment, path)),
      context: (session) => session.buildContext(),
    };
  },
  "1.6.0": async () => {
    const { SessionManager } = await load("pi-coding-agent/dist/core/session-manager.js");
    return {
      open: () => SessionManager.open(path),
      context: (session) => session.buildSessionContext(),
      list: () => SessionManager.listAll(),
    };
  },
};

async function times(count, work) {
  const seconds = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await work(i);
    seconds.push((performance.now() - start) / 1000);
  }
  return seconds;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

const tasks = {
  session: async (peer) => {
    let session;
    const reopen = async () => (session = await peer.open());
    const open = await times(1, reopen);
    const rss = process.memoryUsage().rss;
    globalThis.gc();
    const collected = process.memoryUsage().rss;
    open.push(...(await times(count - 1, reopen)));
    let messages;
    const context = await times(3, async () => (messages = (await peer.context(session)).messages.length));
    const append = await times(1000, (i) =>
      session.appendMessage({ role: "user", content: `a small message ${i}`, timestamp: Date.now() }),
    );
    return { open, rss, collected, context, messages, append: sum(append) };
  },
  list: async (peer) => {
    let sessions;
    const list = await times(count, async () => (sessions = (await peer.list()).length));
    return { list, sessions };
  },
};

console.log(JSON.stringify(await tasks[task](await peers[version]())));
