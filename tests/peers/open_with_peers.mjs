// Opens session files with both real implementations and prints what each makes of them.
//
//   node open_with_peers.mjs FOLDER FILE...
//
// FOLDER is where the packages are installed. Standard output is one JSON object,
// {FILE: {"0.83.0": ANSWER, "1.6.0": ANSWER}}, an ANSWER being {leafId, entries (how many), context} or {error}.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [folder, ...files] = process.argv.slice(2);
const packages = join(resolve(folder), "node_modules/@earendil-works");

const harness = join(packages, "pi-agent-core/dist/harness");
const { JsonlSessionStorage } = await import(join(harness, "session/jsonl-storage.js"));
const { Session } = await import(join(harness, "session/session.js"));
const { NodeExecutionEnv } = await import(join(harness, "env/nodejs.js"));
const { SessionManager } = await import(join(packages, "pi-coding-agent/dist/core/session-manager.js"));

const work = mkdtempSync(join(tmpdir(), "peers-"));
const environment = new NodeExecutionEnv({ cwd: work });

const peers = {
  "0.83.0": async (file) => {
    const session = new Session(await JsonlSessionStorage.open(environment, file));
    const entries = await session.getEntries();
    return { leafId: await session.getLeafId(), entries: entries.length, context: await session.buildContext() };
  },
  "1.6.0": async (file) => {
    const session = SessionManager.open(file);
    return { leafId: session.getLeafId(), entries: session.getEntries().length, context: session.buildSessionContext() };
  },
};

async function answer(ask, file) {
  // The newer one mends and migrates files when it opens them, so neither ever sees the original.
  const copy = join(work, "session.jsonl");
  copyFileSync(file, copy);
  try {
    return await ask(copy);
  } catch (error) {
    return { error: { name: error.name, message: error.message, code: error.code } };
  }
}

const answers = {};
try {
  for (const file of files) {
    answers[file] = {};
    for (const [version, ask] of Object.entries(peers)) answers[file][version] = await answer(ask, file);
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.stdout.write(JSON.stringify(answers));
