// The types of the piserver protocol. Generated from piserver/protocol by `make types`; not to be edited.

export const PROTOCOL_VERSION = 1;

export type EntryDraft = MessageDraft | ThinkingLevelDraft | ModelDraft | ActiveToolsDraft | CompactionDraft | BranchSummaryDraft | CustomDraft | CustomMessageDraft | LabelDraft | SessionInfoDraft | LeafDraft | UsageDraft | ContextEditDraft;

export type Filter = "default" | "no-tools" | "user-only" | "labeled" | "all";

export type Durability = "structure" | "always" | "never";

export type DiagnosticKind = "malformed-line" | "recovered-entry" | "torn-tail" | "duplicate-id" | "missing-parent" | "absent-parent" | "parent-cycle" | "bad-leaf-target" | "bad-label" | "bad-context-edit" | "missing-message" | "off-path-first-kept" | "header" | "newer-version" | "missing-cwd";

export type RepairStepKind = "split-line" | "set-aside-line" | "set-aside-duplicate" | "cut-tail" | "end-last-line";

export type ErrorKind = "cancelled" | "client-failed" | "entry-not-found" | "invalid-entry" | "invalid-fork-target" | "invalid-params" | "invalid-session" | "lease-held" | "read-only" | "session-not-found" | "stale-cursor" | "stale-leaf" | "storage-failed" | "timed-out" | "too-large";

/** What the parameters of every method may hold besides their own fields; `_meta` is ignored. */
export interface RequestParams {
  workDoneToken?: string | number;
  partialResultToken?: string | number;
  _meta?: unknown;
}

/**
 * The settings and their defaults.
 *
 * `trusted`: the person trusts the workspace. `sessionsFolder`: where sessions lie, by default the terminal agent's
 * place. `durability`: what is flushed to the disk before a change is answered: `structure` (messages of people and
 * models, and all that shapes the tree), `always`, `never`. `logLevel`: from which level on log records go to the
 * client as `window/logMessage`. `maxFrameBytes`: the largest message that is read.
 * `maxSessionBytes`: the largest session file that is opened.
 */
export interface Settings {
  /** default `false` */
  trusted?: boolean;
  sessionsFolder?: string;
  /** default `"structure"` */
  durability?: Durability;
  /** default `"info"` */
  logLevel?: "debug" | "error" | "info" | "off" | "warning";
  /** default `67108864`, at least 1024 */
  maxFrameBytes?: number;
  /** default `8589934592`, at least 1024 */
  maxSessionBytes?: number;
}

/**
 * What stands under `capabilities.experimental.piserver`. What is not named there is not supported.
 *
 * `version` is the program's, `maxFrameBytes` the largest message that it reads.
 */
export interface Capabilities {
  protocolVersion: number;
  version: string;
  methods: string[];
  notifications: string[];
  filters: Filter[];
  maxFrameBytes: number;
}

/**
 * The `data` of an error: its kind, and whether the same request may succeed later without anything being changed.
 *
 * Some kinds add fields of their own.
 */
export interface ErrorData {
  kind: ErrorKind;
  retryable: boolean;
}

/** A new session for a working directory. `path` names the file instead of the usual place. */
export interface CreateParams extends RequestParams {
  cwd: string;
  name?: string;
  metadata?: Record<string, unknown>;
  path?: string;
  idempotencyKey?: string;
}

/**
 * A session as it is now.
 *
 * `newerLeafId`: a newer message on another branch than the leaf's, which nobody jumped away from; let the person
 * choose. `readOnly` says why nothing can be written, `lease` which other server has the session for its own changes.
 * At most 100 `diagnostics` of `diagnosticsTotal` are given.
 */
export interface Snapshot {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  info: SessionInfo;
  newerLeafId: string | null;
  readOnly: string | null;
  lease?: LeaseOwner;
  state: ContextState;
  statistics: Statistics;
  diagnostics: Diagnostic[];
  diagnosticsTotal: number;
  rows: RowWindow;
}

/**
 * A session in a list. Times are ISO-8601 UTC; `created` and `cwd` are empty where the header lacks them.
 *
 * `firstMessage` is the beginning of the first user message. `broken` says why the file cannot be opened.
 */
export interface SessionInfo {
  id: string;
  path: string;
  cwd: string;
  created: string;
  modified: string;
  size: number;
  name: string | null;
  firstMessage: string | null;
  messageCount: number | null;
  parentSession: string | null;
  broken?: string;
}

/**
 * The server that has a session for its own changes. Times are ISO-8601; `started` is when its process began.
 *
 * `remote`: it runs on another machine, so that nobody here can know whether it still does.
 */
export interface LeaseOwner {
  program: string;
  pid: number;
  host: string;
  started: string;
  since: string;
  purpose: string | null;
  remote?: boolean;
}

/** What holds at an entry: `model` null and `activeToolNames` null where the log never said. */
export interface ContextState {
  model: ModelRef | null;
  thinkingLevel: unknown;
  activeToolNames: unknown;
}

/** The model in force. Files may hold any JSON here; normally both are strings. */
export interface ModelRef {
  provider?: unknown;
  modelId?: unknown;
}

/** Totals over entries. `models` has a key `provider/model` each, and `summaries`. */
export interface Statistics {
  entries: number;
  messages: number;
  roles: Record<string, number>;
  usage: Usage;
  models: Record<string, Usage>;
}

/** Tokens and cost (USD). */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: number;
}

/** Something wrong with a session's file. `line` counts physical lines from 1, `offset` bytes. */
export interface Diagnostic {
  kind: DiagnosticKind;
  message: string;
  line?: number;
  offset?: number;
  entryId?: string;
}

/** The rows from `offset` on, out of `total`; `leafRow` is the place of the one marked `leaf`, null if none is. */
export interface RowWindow {
  filter: Filter;
  total: number;
  offset: number;
  leafRow: number | null;
  rows: Row[];
}

/**
 * One line of the tree, ready to be drawn.
 *
 * `guides` has a character for each level of indentation: `|` a branch goes on beside this line, `+` a branch starts
 * here and more follow, `L` the last branch starts here, a space nothing. `children` counts the visible children,
 * `hidden` the lines that collapsing this one took away. `onPath`: on the way from the root to the leaf. `leaf`: the
 * line nearest to the write position. `inContext`: a model would see this entry now. `orphaned`: its parent is
 * missing.
 */
export interface Row {
  id: string;
  parentId: string | null;
  index: number;
  type: string;
  role: string | null;
  timestamp: string;
  preview: string;
  label?: string;
  failed?: boolean;
  leftLeafId?: string;
  guides: string;
  children: number;
  hidden?: number;
  collapsed?: boolean;
  onPath?: boolean;
  leaf?: boolean;
  inContext?: boolean;
  orphaned?: boolean;
}

/**
 * A session by `sessionId` or by the `path` of its file.
 *
 * With `create` (a working directory), an empty file becomes a new session. `subscribe` false: no notifications.
 * `rows` chooses the first page; with `atLeaf` it is centred on the leaf.
 */
export interface OpenParams extends RequestParams {
  sessionId?: string;
  path?: string;
  create?: string;
  /** default `true` */
  subscribe?: boolean;
  rows?: RowsParams;
  /** default `false` */
  atLeaf?: boolean;
}

/**
 * Which rows of the tree.
 *
 * Those that `filter` shows and whose text or label holds all words of `query`, with what is below the `collapsed`
 * entries left out; from `offset` on, or so that `around` (an entry's id) stands in the middle.
 */
export interface RowsParams {
  /** default `"default"` */
  filter?: Filter;
  /** default `""` */
  query?: string;
  collapsed?: string[];
  /** default `0`, at least 0 */
  offset?: number;
  /** default `200`, 1 to 1000 */
  limit?: number;
  around?: string;
}

/** A session whose notifications are not wanted any more. */
export interface CloseParams extends RequestParams {
  sessionId: string;
}

/** The parameters of a method that has none. */
export type Empty = Record<string, never>;

/**
 * The sessions of a working directory (by their header), or all. `limit` and `cursor` page through them.
 *
 * `query` keeps those whose name, first message or directory holds all its words; `since` and `until` (ISO-8601) those
 * last changed in between.
 */
export interface ListParams extends RequestParams {
  cwd?: string;
  query?: string;
  since?: string;
  until?: string;
  /** default `1000`, 1 to 10000 */
  limit?: number;
  cursor?: string;
}

/**
 * Newest first. `nextCursor` asks for the next page; null at the end.
 *
 * With a `partialResultToken` the sessions come in `$/progress` notifications of this shape, and the result holds
 * none. They come twice where reading them takes time: at once with what is known (null for the rest), then whole;
 * what comes later replaces what has the same `path`.
 */
export interface ListResult {
  sessions: SessionInfo[];
  nextCursor: string | null;
}

/** A working directory. */
export interface LatestParams extends RequestParams {
  cwd: string;
}

/** The newest session of a working directory; null if there is none. */
export interface LatestResult {
  info: SessionInfo | null;
}

/** A session by `sessionId` or `path`, to be moved to the desktop's trash, or with `permanent` to be removed. */
export interface DeleteParams extends RequestParams {
  sessionId?: string;
  path?: string;
  /** default `false` */
  permanent?: boolean;
}

/** The file that is gone. */
export interface DeleteResult {
  path: string;
}

/** A new name; null or blank clears it. */
export interface RenameParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  name: string | null;
}

/**
 * The entries that a change appended, in order.
 *
 * `pending`: the change waits for a running agent and has no entries yet. `newerLeafId`: another program has gone on
 * elsewhere in the tree. `warnings` are sentences for the person.
 */
export interface ChangeResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  entryIds: string[];
  pending?: boolean;
  newerLeafId?: string;
  warnings?: string[];
}

/**
 * One `entry`, or several `entries` in one atomic write; the last becomes the leaf.
 *
 * An entry has its `type` and own fields; id, parent and time are given by the server.
 */
export interface AppendParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  entry?: EntryDraft;
  entries?: EntryDraft[];
}

/** A message of the conversation; `message` is an object with a `role`. */
export interface MessageDraft {
  type: "message";
  message: Record<string, unknown>;
}

/** From here on the model thinks at this level: off, minimal, low, medium, high, xhigh or max. */
export interface ThinkingLevelDraft {
  type: "thinking_level_change";
  thinkingLevel: string;
}

/** From here on this model answers. */
export interface ModelDraft {
  type: "model_change";
  provider: string;
  modelId: string;
}

/** From here on these tools are offered to the model. */
export interface ActiveToolsDraft {
  type: "active_tools_change";
  activeToolNames: string[];
}

/** What lies before `firstKeptEntryId` on the path enters the context as this summary. */
export interface CompactionDraft {
  type: "compaction";
  summary: string;
  firstKeptEntryId?: string;
  /** default `0` */
  tokensBefore?: number;
  retainedTail?: Record<string, unknown>[];
  details?: unknown;
  usage?: Record<string, unknown>;
  fromHook?: boolean;
  systemMessage?: Record<string, unknown>;
}

/** What happened on a branch that was left; `fromId` is the target of the jump, `root` for the start. */
export interface BranchSummaryDraft {
  type: "branch_summary";
  fromId: string;
  summary: string;
  details?: unknown;
  usage?: Record<string, unknown>;
  fromHook?: boolean;
}

/** Data of an extension; no part of the context unless a projector says otherwise. */
export interface CustomDraft {
  type: "custom";
  customType: string;
  data?: unknown;
}

/** A message of an extension; the model reads it as the user's. `content` is text or a list of blocks. */
export interface CustomMessageDraft {
  type: "custom_message";
  customType: string;
  content: string | Record<string, unknown>[];
  /** default `true` */
  display?: boolean;
  details?: unknown;
}

/** A name for an entry; absent or blank clears it. */
export interface LabelDraft {
  type: "label";
  targetId: string;
  label?: string;
}

/** The session's name; absent or blank clears it. */
export interface SessionInfoDraft {
  type: "session_info";
  name?: string;
}

/** A jump: the write position becomes `targetId`, null for before the first entry. */
export interface LeafDraft {
  type: "leaf";
  targetId: string | null;
}

/** Tokens and money spent outside the conversation; counted in totals, never in the context. */
export interface UsageDraft {
  type: "usage";
  kind: string;
  provider: string;
  model: string;
  usage: Record<string, unknown>;
  note?: string;
}

/** Leave an entry out of the context (null) or replace its content there. The latest edit on the path counts. */
export interface ContextEditDraft {
  type: "context_edit";
  targetId: string;
  replacement: Replacement | null;
}

/** New content for an entry in the context: text or a list of blocks. */
export interface Replacement {
  content: string | Record<string, unknown>[];
}

/** The new leaf, null for before the first entry, and a summary to hang there. */
export interface MoveToParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  entryId: string | null;
  summary?: SummaryParams;
}

/** A ready-made summary of the branch that is left. */
export interface SummaryParams {
  summary: string;
  details?: unknown;
  usage?: Record<string, unknown>;
  fromHook?: boolean;
}

/** The entries that record the move; absent where none was needed. */
export interface MoveResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  leafEntryId?: string;
  summaryEntryId?: string;
}

/**
 * What choosing an entry in a tree view does.
 *
 * For a user message or custom message the leaf becomes its parent and its text comes back; for any other entry the
 * leaf becomes that entry. `label` names the summary if there is one, else the target.
 */
export interface NavigateParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  targetId: string;
  summary?: SummaryParams;
  label?: string;
}

/** `editorText` goes into the input if that is empty; else the draft stays and the text is offered. */
export interface NavigateResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  leafEntryId?: string;
  summaryEntryId?: string;
  editorText: string | null;
  labelEntryId?: string;
}

/**
 * `before`: a new session with the path up to the parent of a user message. `at`: up to and including any entry.
 *
 * `cwd` is the new session's, by default the source's.
 */
export interface ForkParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  entryId: string;
  /** default `"before"` */
  position?: "at" | "before";
  cwd?: string;
}

/** The new session, not yet open, and the text of the message before which it was forked. */
export interface ForkResult {
  sourceSessionId: string;
  info: SessionInfo;
  editorText: string | null;
}

/** A session to copy whole, with all branches and the same leaf. */
export interface CloneParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
}

/** A name for an entry; null or blank clears it. */
export interface SetLabelParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  entryId: string;
  label: string | null;
}

/**
 * What a model sees of an entry.
 *
 * `replacement` null leaves it out of the context, `{content}` puts that in its place; `restore` takes either back.
 * Exactly one of the two is given.
 */
export interface EditContextParams extends RequestParams {
  sessionId: string;
  expectedLeafId?: string | null;
  idempotencyKey?: string;
  entryId: string;
  replacement?: Replacement | null;
  /** default `false` */
  restore?: boolean;
}

/** A window of a session's rows. */
export interface GetTreeParams extends RequestParams {
  /** default `"default"` */
  filter?: Filter;
  /** default `""` */
  query?: string;
  collapsed?: string[];
  /** default `0`, at least 0 */
  offset?: number;
  /** default `200`, 1 to 1000 */
  limit?: number;
  around?: string;
  sessionId: string;
}

/** A window of the tree. */
export interface GetTreeResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  window: RowWindow;
}

/** Whole entries by id. The answer holds no more than about `maxBytes` of them, but at least one. */
export interface GetEntriesParams extends RequestParams {
  sessionId: string;
  /** at most 10000 */
  ids: string[];
  /** default `16777216`, 1 to 67108864 */
  maxBytes?: number;
}

/** The entries as they stand in the file, in the order asked for; `remaining` are the ids still to be asked for. */
export interface GetEntriesResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  entries: unknown[];
  remaining: string[];
}

/** The path to an entry, by default the leaf (null: the empty path); a page of it. */
export interface GetPathParams extends RequestParams {
  sessionId: string;
  entryId?: string | null;
  /** default `0`, at least 0 */
  offset?: number;
  /** default `200`, 1 to 1000 */
  limit?: number;
}

/** The entries from the root on, `total` in all. */
export interface GetPathResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  total: number;
  offset: number;
  entries: EntrySummary[];
}

/**
 * An entry in brief. `index` is its place in file order; `preview` one line of at most 160 characters.
 *
 * `failed` marks an answer that ended in an error or was aborted. `leftLeafId`, on a branch summary, is the end of the
 * branch that was left.
 */
export interface EntrySummary {
  id: string;
  parentId: string | null;
  index: number;
  type: string;
  role: string | null;
  timestamp: string;
  preview: string;
  label?: string;
  failed?: boolean;
  leftLeafId?: string;
}

/**
 * The path to an entry, by default the leaf, a page of it.
 *
 * `last` takes the page from the end: the last `limit` items before the last `offset`. With `after`, the items behind
 * that entry are given instead. With `ids`, those entries alone, whatever path they are on.
 */
export interface TranscriptParams extends RequestParams {
  sessionId: string;
  entryId?: string | null;
  /** default `0`, at least 0 */
  offset?: number;
  /** default `100`, 1 to 1000 */
  limit?: number;
  /** default `false` */
  last?: boolean;
  after?: string;
  ids?: string[];
}

/** The items from `offset` of the path on, `total` in all. Fewer than asked for where they are large. */
export interface TranscriptResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  total: number;
  offset: number;
  items: TranscriptItem[];
}

/**
 * An entry as it is read. `title` says who or what, `about` a little more (a model, a size).
 *
 * `note`s are one line: a model change, a label, a jump. `inContext`: a model would see it now.
 */
export interface TranscriptItem {
  entryId: string;
  kind: "assistant" | "compaction" | "custom" | "note" | "opaque" | "shell" | "summary" | "system" | "tool" | "user";
  title: string;
  about: string;
  timestamp: string;
  label?: string;
  inContext?: boolean;
  parts: TranscriptPart[];
}

/**
 * A piece of an entry.
 *
 * `prose` is Markdown, `code` text to be shown as it is (`language` names a language or a file), `diff` lines that
 * begin with `+`, `-`, `@` or a space, `image` base64 `data` of `mediaType` (without
 * `data` it cannot be shown: `text` says what it is), `remark` a sentence about what is shown,
 * `fold` further `parts` behind the line `name`: `title`. A fold's `fold` says what it is; `open`: shown unfolded;
 * `failure`: it went wrong. `callId` joins the fold of a call with that of its result. `cut` counts the characters
 * that were left out; `session/getEntries` has all of it.
 */
export interface TranscriptPart {
  kind: "code" | "diff" | "fold" | "image" | "prose" | "remark";
  text?: string;
  language?: string;
  mediaType?: string;
  data?: string;
  fold?: "call" | "more" | "result" | "thinking";
  name?: string;
  title?: string;
  callId?: string;
  parts?: TranscriptPart[];
  open?: boolean;
  failure?: boolean;
  cut?: number;
}

/** A position that the client has seen. */
export interface ChangesParams extends RequestParams {
  sessionId: string;
  epoch: string;
  /** at least 0 */
  since: number;
  /** default `1000`, 1 to 1000 */
  limit?: number;
}

/**
 * What came after `since`, without gap or overlap.
 *
 * It reaches up to `through` entries; ask again from there if that is less than `revision`. `labels` holds what the
 * new entries say of labels, "" for cleared ones (some clients' JSON drops null); `name` likewise.
 *
 * A position that the log cannot serve is answered `stale-cursor`, with a fresh `snapshot` in the error's data.
 */
export interface ChangesResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  since: number;
  through: number;
  appended: EntrySummary[];
  labels: Record<string, string>;
  name?: string;
  newerLeafId: string | null;
}

/**
 * The context at an entry, by default the leaf (null: before the first entry), without moving.
 *
 * `form` `messages`: as projected from the log. `llm`: user, assistant and toolResult messages alone, every tool call
 * answered once, made fit for `model` if that is given. `estimates` false leaves out token estimates, which need every
 * message decoded; `excluded` false leaves out what is not in.
 */
export interface BuildContextParams extends RequestParams {
  sessionId: string;
  entryId?: string | null;
  /** default `"messages"` */
  form?: "llm" | "messages";
  model?: TargetModel;
  /** default `true` */
  estimates?: boolean;
  /** default `true` */
  excluded?: boolean;
}

/** The model for which a context is made fit. `api` is its API family; `images` whether it takes them. */
export interface TargetModel {
  provider: string;
  modelId: string;
  api: string;
  /** default `true` */
  images?: boolean;
}

/** The messages in order with their sources, the state at the entry, and what was left out or changed. */
export interface BuildContextResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  entryId: string | null;
  form: "llm" | "messages";
  state: ContextState;
  messages: ContextMessage[];
  tokens: ContextTokens | null;
  excluded: ExcludedEntry[];
  changes: ContextChange[];
  diagnostics: Diagnostic[];
}

/**
 * One message of a context and where it comes from.
 *
 * `reason`: `on-path` (no compaction on the path), `compaction` (the newest one), `kept` (by it), `after-compaction`.
 * `tokens` is the estimate for this message alone; absent if estimates were not asked for.
 */
export interface ContextMessage {
  message: unknown;
  entryId: string;
  reason: "after-compaction" | "compaction" | "kept" | "on-path";
  tokens?: number;
}

/**
 * An estimate of a context: what a provider reported last (`usage`), plus an estimate of what came after.
 *
 * `usageEntryId` is the answer whose usage was taken; null if everything is estimated.
 */
export interface ContextTokens {
  total: number;
  usage: number;
  trailing: number;
  usageEntryId: string | null;
}

/** An entry of the path that gives no message, and why. */
export interface ExcludedEntry {
  entryId: string;
  reason: "before-compaction" | "edited-out" | "empty" | "not-a-message" | "older-compaction" | "replaced-system" | "transformed-out";
}

/** Something that was changed to make the context fit for a provider; `detail` names the block or call. */
export interface ContextChange {
  kind: "blank-text-dropped" | "call-id-changed" | "duplicate-call-omitted" | "duplicate-result-omitted" | "empty-message-omitted" | "empty-result-filled" | "failed-answer-omitted" | "image-replaced" | "result-inserted" | "signature-removed" | "thinking-dropped" | "unpaired-result-omitted";
  entryId: string;
  detail?: string;
}

/**
 * What to look for, and where: one session, the sessions of a working directory (by their header), or all.
 *
 * `query` holds words that must all be in an entry, "quoted" ones as phrases, or with `regex` one expression in RE2's
 * syntax. Labels, session names and whole entry ids are found as well. `roles` and `types` narrow the entries; empty
 * means all, and names are found only then.
 */
export interface SearchParams extends RequestParams {
  query: string;
  sessionId?: string;
  cwd?: string;
  /** default `false` */
  regex?: boolean;
  /** default `false` */
  matchCase?: boolean;
  roles?: string[];
  types?: string[];
  /** default `100`, 1 to 1000 */
  limit?: number;
}

/**
 * Newest first: sessions by their last change, entries of one session from the end of its file.
 *
 * An entry that a fork shares with its source is found once. `limited`: there are more than `limit`.
 * `sessionsSearched` counts the files that were looked at. With a `partialResultToken` the hits come in `$/progress`
 * notifications of this shape as they are found, and the result holds none.
 */
export interface SearchResult {
  hits: SearchHit[];
  sessionsSearched: number;
  limited: boolean;
}

/**
 * One place where the query was found.
 *
 * `match` says in what: an entry's `text`, its `label`, its `id`, or the session's `name` (then there is no entry).
 * `snippet` is one line of at most 160 characters around it, `ranges` the matches in that. The session may not be
 * open: open it by `path`.
 */
export interface SearchHit {
  sessionId: string;
  path: string;
  sessionName: string | null;
  match: "id" | "label" | "name" | "text";
  snippet: string;
  ranges: TextRange[];
  entryId: string | null;
  type: string | null;
  role: string | null;
  timestamp: string | null;
  branch: Branch | null;
}

/** A part of a text, from `start` up to `end`, in UTF-16 units. */
export interface TextRange {
  start: number;
  end: number;
}

/**
 * The branch on which an entry lies.
 *
 * `leafId` is its newest end, `label` the nearest label between the entry and that end, `lastActivity` the end's time
 * (ISO-8601). `onPath`: the entry is on the way to the session's leaf.
 */
export interface Branch {
  leafId: string;
  label: string | null;
  lastActivity: string;
  onPath: boolean;
}

/**
 * What of a session, and how: to be read (`markdown`, `html`), or as a session file of its own (`jsonl`).
 *
 * `scope` `path`: the way to `entryId`, by default to the leaf (null: the empty path). `tree`: all branches, without
 * `entryId`. `redact` replaces keys, tokens and passwords of the usual shapes. With `path` the export is written
 * there, only for the person to read; a file that exists stays as it is unless `overwrite` is true.
 */
export interface ExportParams extends RequestParams {
  sessionId: string;
  form: "html" | "jsonl" | "markdown";
  /** default `"path"` */
  scope?: "path" | "tree";
  entryId?: string | null;
  /** default `false` */
  redact?: boolean;
  path?: string;
  /** default `false` */
  overwrite?: boolean;
}

/**
 * An export of `size` bytes: the `path` where it was written, else its `content`.
 *
 * `fileName` is a name under which it may be kept.
 */
export interface ExportResult {
  mediaType: string;
  fileName: string;
  size: number;
  content?: string;
  path?: string;
  redactions: Redaction[];
}

/** How many secrets of one kind were replaced by `[redacted:KIND]`, and in which entries (none: in the header). */
export interface Redaction {
  kind: string;
  count: number;
  entryIds: string[];
}

/** An entry, by default the leaf. */
export interface StatsParams extends RequestParams {
  sessionId: string;
  entryId?: string | null;
}

/**
 * Totals of the file and of the path to the entry, and the estimate of the context there.
 *
 * `window` and `percent` (0 to 100) are null while the model's window is not known.
 */
export interface StatsResult {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  file: Statistics;
  path: Statistics;
  context: ContextTokens;
  window: number | null;
  percent: number | null;
}

/** A session by `sessionId` or by the `path` of its file, which is not opened for that. */
export interface VerifyParams extends RequestParams {
  sessionId?: string;
  path?: string;
}

/**
 * What was found in a file, all `diagnostics`, and the `steps` that `session/repair` would take.
 *
 * `size` is in bytes, `lines` counts physical lines, `entries` those that can be read. `refused` says why the file
 * would not be repaired at this moment; null if nothing hinders that.
 */
export interface VerifyResult {
  path: string;
  sessionId: string;
  version: number;
  size: number;
  sha256: string;
  lines: number;
  entries: number;
  leafId: string | null;
  diagnostics: Diagnostic[];
  steps: RepairStep[];
  refused: string | null;
}

/**
 * One thing that mending does to a file. `line` counts physical lines from 1; `offset` and `size` are bytes.
 *
 * `split-line`: entries found on a damaged line get lines of their own. `set-aside-line`: what is no entry goes to
 * `.damaged`. `set-aside-duplicate`: so does an entry whose id another one has already. `cut-tail`: what a crash left
 * of the last line goes to `.torn`. `end-last-line`: the last line gets its end.
 */
export interface RepairStep {
  kind: RepairStepKind;
  line: number;
  offset: number;
  size: number;
  reason: string;
}

/** A session by `sessionId` or by the `path` of its file. */
export interface RepairParams extends RequestParams {
  sessionId?: string;
  path?: string;
}

/**
 * What was done, and the file as it is now.
 *
 * `backup` holds what it was, `damaged` and `torn` what was taken out; null where there was nothing to keep. Without
 * `steps` nothing was wrong that could be mended, and nothing was changed. `diagnostics` are what remains: what whole
 * entries say of each other.
 */
export interface RepairResult {
  path: string;
  sessionId: string;
  size: number;
  sha256: string;
  entries: number;
  steps: RepairStep[];
  diagnostics: Diagnostic[];
  backup: string | null;
  damaged: string | null;
  torn: string | null;
}

/**
 * `status`: who has the session. `take`: have it, for the server's own changes alone. `release`: give it back.
 *
 * `force` takes it from somebody who has it. `purpose` is shown to others.
 */
export interface LeaseParams extends RequestParams {
  sessionId: string;
  /** default `"status"` */
  action?: "release" | "status" | "take";
  /** default `false` */
  force?: boolean;
  purpose?: string;
}

/**
 * Who has the session now; null if nobody has. `own`: it is this server.
 *
 * `previous`: who has lost it by being taken over from, or by ending without giving it back.
 */
export interface LeaseResult {
  sessionId: string;
  owner: LeaseOwner | null;
  own: boolean;
  previous?: LeaseOwner;
}

/**
 * The tree has grown from `fromRevision` to `revision`.
 *
 * `appended` are the new entries in brief, as far as they fit; `appendedIds` the rest, to be fetched. `labels` and
 * `name` hold what changed, "" for what was cleared. `reset`: the file was replaced or too much was missed; ask for a
 * snapshot.
 */
export interface TreeChanged {
  sessionId: string;
  epoch: string;
  revision: number;
  leafId: string | null;
  fromRevision: number;
  appended: EntrySummary[];
  appendedIds: string[];
  labels: Record<string, string>;
  name?: string;
  newerLeafId: string | null;
  origin: ChangeOrigin;
  reset?: boolean;
}

/**
 * Who caused a change.
 *
 * A `client`'s request (`requestId`), an `agent` run, another program (`external`), or several of them, where
 * notifications were put together for a slow reader (`mixed`).
 */
export interface ChangeOrigin {
  kind: "agent" | "client" | "external" | "mixed";
  requestId?: string | number;
}

/** A session came, went or got another name. `info` is absent for one that is gone. */
export interface ListChanged {
  reason: "created" | "deleted" | "renamed";
  sessionId: string;
  path: string;
  info?: SessionInfo;
}

/** Another server has the session than before, or none (null). `lost`: this server had it, and has it no more. */
export interface LeaseChanged {
  sessionId: string;
  owner: LeaseOwner | null;
  lost?: boolean;
}

/** Every request, by its method. */
export interface Methods {
  "session/create": { params: CreateParams; result: Snapshot };
  "session/open": { params: OpenParams; result: Snapshot };
  "session/close": { params: CloseParams; result: Empty };
  "session/list": { params: ListParams; result: ListResult };
  "session/latest": { params: LatestParams; result: LatestResult };
  "session/delete": { params: DeleteParams; result: DeleteResult };
  "session/rename": { params: RenameParams; result: ChangeResult };
  "session/append": { params: AppendParams; result: ChangeResult };
  "session/moveTo": { params: MoveToParams; result: MoveResult };
  "session/navigate": { params: NavigateParams; result: NavigateResult };
  "session/fork": { params: ForkParams; result: ForkResult };
  "session/clone": { params: CloneParams; result: ForkResult };
  "session/setLabel": { params: SetLabelParams; result: ChangeResult };
  "session/editContext": { params: EditContextParams; result: ChangeResult };
  "session/getTree": { params: GetTreeParams; result: GetTreeResult };
  "session/getEntries": { params: GetEntriesParams; result: GetEntriesResult };
  "session/getPath": { params: GetPathParams; result: GetPathResult };
  "session/getTranscript": { params: TranscriptParams; result: TranscriptResult };
  "session/changes": { params: ChangesParams; result: ChangesResult };
  "session/buildContext": { params: BuildContextParams; result: BuildContextResult };
  "session/search": { params: SearchParams; result: SearchResult };
  "session/export": { params: ExportParams; result: ExportResult };
  "session/stats": { params: StatsParams; result: StatsResult };
  "session/verify": { params: VerifyParams; result: VerifyResult };
  "session/repair": { params: RepairParams; result: RepairResult };
  "session/lease": { params: LeaseParams; result: LeaseResult };
}

/** Every notification from the server, by its method. */
export interface Notifications {
  "session/treeChanged": TreeChanged;
  "session/listChanged": ListChanged;
  "session/leaseChanged": LeaseChanged;
}
