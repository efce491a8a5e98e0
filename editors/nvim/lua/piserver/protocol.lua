-- The types of the piserver protocol. Generated from piserver/protocol by `make types`; not to be edited.

---@alias piserver.EntryDraft piserver.MessageDraft|piserver.ThinkingLevelDraft|piserver.ModelDraft|piserver.ActiveToolsDraft|piserver.CompactionDraft|piserver.BranchSummaryDraft|piserver.CustomDraft|piserver.CustomMessageDraft|piserver.LabelDraft|piserver.SessionInfoDraft|piserver.LeafDraft|piserver.UsageDraft|piserver.ContextEditDraft

---@alias piserver.Filter "default"|"no-tools"|"user-only"|"labeled"|"all"

---@alias piserver.Durability "structure"|"always"|"never"

---@alias piserver.DiagnosticKind "malformed-line"|"recovered-entry"|"torn-tail"|"duplicate-id"|"missing-parent"|"absent-parent"|"parent-cycle"|"bad-leaf-target"|"bad-label"|"bad-context-edit"|"missing-message"|"off-path-first-kept"|"header"|"newer-version"|"missing-cwd"

---@alias piserver.RepairStepKind "split-line"|"set-aside-line"|"set-aside-duplicate"|"cut-tail"|"end-last-line"

---@alias piserver.ErrorKind "cancelled"|"client-failed"|"entry-not-found"|"invalid-entry"|"invalid-fork-target"|"invalid-params"|"invalid-session"|"lease-held"|"read-only"|"session-not-found"|"stale-cursor"|"stale-leaf"|"storage-failed"|"timed-out"|"too-large"

--- What the parameters of every method may hold besides their own fields; `_meta` is ignored.
---@class piserver.RequestParams
---@field workDoneToken? string|integer
---@field partialResultToken? string|integer
---@field _meta? any

--- The settings and their defaults.
---
--- `trusted`: the person trusts the workspace. `sessionsFolder`: where sessions lie, by default the terminal agent's
--- place. `durability`: what is flushed to the disk before a change is answered: `structure` (messages of people and
--- models, and all that shapes the tree), `always`, `never`. `logLevel`: from which level on log records go to the
--- client as `window/logMessage`. `maxFrameBytes`: the largest message that is read.
--- `maxSessionBytes`: the largest session file that is opened.
---@class piserver.Settings
---@field trusted? boolean default `false`
---@field sessionsFolder? string
---@field durability? piserver.Durability default `"structure"`
---@field logLevel? "debug"|"error"|"info"|"off"|"warning" default `"info"`
---@field maxFrameBytes? integer default `67108864`, at least 1024
---@field maxSessionBytes? integer default `8589934592`, at least 1024

--- What stands under `capabilities.experimental.piserver`. What is not named there is not supported.
---
--- `version` is the program's, `maxFrameBytes` the largest message that it reads.
---@class piserver.Capabilities
---@field protocolVersion integer
---@field version string
---@field methods string[]
---@field notifications string[]
---@field filters piserver.Filter[]
---@field maxFrameBytes integer

--- The `data` of an error: its kind, and whether the same request may succeed later without anything being changed.
---
--- Some kinds add fields of their own.
---@class piserver.ErrorData
---@field kind piserver.ErrorKind
---@field retryable boolean

--- A new session for a working directory. `path` names the file instead of the usual place.
---@class piserver.CreateParams: piserver.RequestParams
---@field cwd string
---@field name? string
---@field metadata? table<string, any>
---@field path? string
---@field idempotencyKey? string

--- A session as it is now.
---
--- `newerLeafId`: a newer message on another branch than the leaf's, which nobody jumped away from; let the person
--- choose. `readOnly` says why nothing can be written, `lease` which other server has the session for its own changes.
--- At most 100 `diagnostics` of `diagnosticsTotal` are given.
---@class piserver.Snapshot
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field info piserver.SessionInfo
---@field newerLeafId? string
---@field readOnly? string
---@field lease? piserver.LeaseOwner
---@field state piserver.ContextState
---@field statistics piserver.Statistics
---@field diagnostics piserver.Diagnostic[]
---@field diagnosticsTotal integer
---@field rows piserver.RowWindow

--- A session in a list. Times are ISO-8601 UTC; `created` and `cwd` are empty where the header lacks them.
---
--- `firstMessage` is the beginning of the first user message. `broken` says why the file cannot be opened.
---@class piserver.SessionInfo
---@field id string
---@field path string
---@field cwd string
---@field created string
---@field modified string
---@field size integer
---@field name? string
---@field firstMessage? string
---@field messageCount? integer
---@field parentSession? string
---@field broken? string

--- The server that has a session for its own changes. Times are ISO-8601; `started` is when its process began.
---
--- `remote`: it runs on another machine, so that nobody here can know whether it still does.
---@class piserver.LeaseOwner
---@field program string
---@field pid integer
---@field host string
---@field started string
---@field since string
---@field purpose? string
---@field remote? boolean

--- What holds at an entry: `model` null and `activeToolNames` null where the log never said.
---@class piserver.ContextState
---@field model? piserver.ModelRef
---@field thinkingLevel any
---@field activeToolNames any

--- The model in force. Files may hold any JSON here; normally both are strings.
---@class piserver.ModelRef
---@field provider? any
---@field modelId? any

--- Totals over entries. `models` has a key `provider/model` each, and `summaries`.
---@class piserver.Statistics
---@field entries integer
---@field messages integer
---@field roles table<string, integer>
---@field usage piserver.Usage
---@field models table<string, piserver.Usage>

--- Tokens and cost (USD).
---@class piserver.Usage
---@field input number
---@field output number
---@field cacheRead number
---@field cacheWrite number
---@field totalTokens number
---@field cost number

--- Something wrong with a session's file. `line` counts physical lines from 1, `offset` bytes.
---@class piserver.Diagnostic
---@field kind piserver.DiagnosticKind
---@field message string
---@field line? integer
---@field offset? integer
---@field entryId? string

--- The rows from `offset` on, out of `total`; `leafRow` is the place of the one marked `leaf`, null if none is.
---@class piserver.RowWindow
---@field filter piserver.Filter
---@field total integer
---@field offset integer
---@field leafRow? integer
---@field rows piserver.Row[]

--- One line of the tree, ready to be drawn.
---
--- `guides` has a character for each level of indentation: `|` a branch goes on beside this line, `+` a branch starts
--- here and more follow, `L` the last branch starts here, a space nothing. `children` counts the visible children,
--- `hidden` the lines that collapsing this one took away. `onPath`: on the way from the root to the leaf. `leaf`: the
--- line nearest to the write position. `inContext`: a model would see this entry now. `orphaned`: its parent is
--- missing.
---@class piserver.Row
---@field id string
---@field parentId? string
---@field index integer
---@field type string
---@field role? string
---@field timestamp string
---@field preview string
---@field label? string
---@field failed? boolean
---@field leftLeafId? string
---@field guides string
---@field children integer
---@field hidden? integer
---@field collapsed? boolean
---@field onPath? boolean
---@field leaf? boolean
---@field inContext? boolean
---@field orphaned? boolean

--- A session by `sessionId` or by the `path` of its file.
---
--- With `create` (a working directory), an empty file becomes a new session. `subscribe` false: no notifications.
--- `rows` chooses the first page; with `atLeaf` it is centred on the leaf.
---@class piserver.OpenParams: piserver.RequestParams
---@field sessionId? string
---@field path? string
---@field create? string
---@field subscribe? boolean default `true`
---@field rows? piserver.RowsParams
---@field atLeaf? boolean default `false`

--- Which rows of the tree.
---
--- Those that `filter` shows and whose text or label holds all words of `query`, with what is below the `collapsed`
--- entries left out; from `offset` on, or so that `around` (an entry's id) stands in the middle.
---@class piserver.RowsParams
---@field filter? piserver.Filter default `"default"`
---@field query? string default `""`
---@field collapsed? string[]
---@field offset? integer default `0`, at least 0
---@field limit? integer default `200`, 1 to 1000
---@field around? string

--- A session whose notifications are not wanted any more.
---@class piserver.CloseParams: piserver.RequestParams
---@field sessionId string

--- The parameters of a method that has none.
---@class piserver.Empty

--- The sessions of a working directory (by their header), or all. `limit` and `cursor` page through them.
---
--- `query` keeps those whose name, first message or directory holds all its words; `since` and `until` (ISO-8601) those
--- last changed in between.
---@class piserver.ListParams: piserver.RequestParams
---@field cwd? string
---@field query? string
---@field since? string
---@field until? string
---@field limit? integer default `1000`, 1 to 10000
---@field cursor? string

--- Newest first. `nextCursor` asks for the next page; null at the end.
---
--- With a `partialResultToken` the sessions come in `$/progress` notifications of this shape, and the result holds
--- none. They come twice where reading them takes time: at once with what is known (null for the rest), then whole;
--- what comes later replaces what has the same `path`.
---@class piserver.ListResult
---@field sessions piserver.SessionInfo[]
---@field nextCursor? string

--- A working directory.
---@class piserver.LatestParams: piserver.RequestParams
---@field cwd string

--- The newest session of a working directory; null if there is none.
---@class piserver.LatestResult
---@field info? piserver.SessionInfo

--- A session by `sessionId` or `path`, to be moved to the desktop's trash, or with `permanent` to be removed.
---@class piserver.DeleteParams: piserver.RequestParams
---@field sessionId? string
---@field path? string
---@field permanent? boolean default `false`

--- The file that is gone.
---@class piserver.DeleteResult
---@field path string

--- A new name; null or blank clears it.
---@class piserver.RenameParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field name string|vim.NIL

--- The entries that a change appended, in order.
---
--- `pending`: the change waits for a running agent and has no entries yet. `newerLeafId`: another program has gone on
--- elsewhere in the tree. `warnings` are sentences for the person.
---@class piserver.ChangeResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field entryIds string[]
---@field pending? boolean
---@field newerLeafId? string
---@field warnings? string[]

--- One `entry`, or several `entries` in one atomic write; the last becomes the leaf.
---
--- An entry has its `type` and own fields; id, parent and time are given by the server.
---@class piserver.AppendParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field entry? piserver.EntryDraft
---@field entries? piserver.EntryDraft[]

--- A message of the conversation; `message` is an object with a `role`.
---@class piserver.MessageDraft
---@field type "message"
---@field message table<string, any>

--- From here on the model thinks at this level: off, minimal, low, medium, high, xhigh or max.
---@class piserver.ThinkingLevelDraft
---@field type "thinking_level_change"
---@field thinkingLevel string

--- From here on this model answers.
---@class piserver.ModelDraft
---@field type "model_change"
---@field provider string
---@field modelId string

--- From here on these tools are offered to the model.
---@class piserver.ActiveToolsDraft
---@field type "active_tools_change"
---@field activeToolNames string[]

--- What lies before `firstKeptEntryId` on the path enters the context as this summary.
---@class piserver.CompactionDraft
---@field type "compaction"
---@field summary string
---@field firstKeptEntryId? string
---@field tokensBefore? integer default `0`
---@field retainedTail? table<string, any>[]
---@field details? any
---@field usage? table<string, any>
---@field fromHook? boolean
---@field systemMessage? table<string, any>

--- What happened on a branch that was left; `fromId` is the target of the jump, `root` for the start.
---@class piserver.BranchSummaryDraft
---@field type "branch_summary"
---@field fromId string
---@field summary string
---@field details? any
---@field usage? table<string, any>
---@field fromHook? boolean

--- Data of an extension; no part of the context unless a projector says otherwise.
---@class piserver.CustomDraft
---@field type "custom"
---@field customType string
---@field data? any

--- A message of an extension; the model reads it as the user's. `content` is text or a list of blocks.
---@class piserver.CustomMessageDraft
---@field type "custom_message"
---@field customType string
---@field content string|table<string, any>[]
---@field display? boolean default `true`
---@field details? any

--- A name for an entry; absent or blank clears it.
---@class piserver.LabelDraft
---@field type "label"
---@field targetId string
---@field label? string

--- The session's name; absent or blank clears it.
---@class piserver.SessionInfoDraft
---@field type "session_info"
---@field name? string

--- A jump: the write position becomes `targetId`, null for before the first entry.
---@class piserver.LeafDraft
---@field type "leaf"
---@field targetId string|vim.NIL

--- Tokens and money spent outside the conversation; counted in totals, never in the context.
---@class piserver.UsageDraft
---@field type "usage"
---@field kind string
---@field provider string
---@field model string
---@field usage table<string, any>
---@field note? string

--- Leave an entry out of the context (null) or replace its content there. The latest edit on the path counts.
---@class piserver.ContextEditDraft
---@field type "context_edit"
---@field targetId string
---@field replacement piserver.Replacement|vim.NIL

--- New content for an entry in the context: text or a list of blocks.
---@class piserver.Replacement
---@field content string|table<string, any>[]

--- The new leaf, null for before the first entry, and a summary to hang there.
---@class piserver.MoveToParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field entryId string|vim.NIL
---@field summary? piserver.SummaryParams

--- A ready-made summary of the branch that is left.
---@class piserver.SummaryParams
---@field summary string
---@field details? any
---@field usage? table<string, any>
---@field fromHook? boolean

--- The entries that record the move; absent where none was needed.
---@class piserver.MoveResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field leafEntryId? string
---@field summaryEntryId? string

--- What choosing an entry in a tree view does.
---
--- For a user message or custom message the leaf becomes its parent and its text comes back; for any other entry the
--- leaf becomes that entry. `label` names the summary if there is one, else the target.
---@class piserver.NavigateParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field targetId string
---@field summary? piserver.SummaryParams
---@field label? string

--- `editorText` goes into the input if that is empty; else the draft stays and the text is offered.
---@class piserver.NavigateResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field leafEntryId? string
---@field summaryEntryId? string
---@field editorText? string
---@field labelEntryId? string

--- `before`: a new session with the path up to the parent of a user message. `at`: up to and including any entry.
---
--- `cwd` is the new session's, by default the source's.
---@class piserver.ForkParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field entryId string
---@field position? "at"|"before" default `"before"`
---@field cwd? string

--- The new session, not yet open, and the text of the message before which it was forked.
---@class piserver.ForkResult
---@field sourceSessionId string
---@field info piserver.SessionInfo
---@field editorText? string

--- A session to copy whole, with all branches and the same leaf.
---@class piserver.CloneParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string

--- A name for an entry; null or blank clears it.
---@class piserver.SetLabelParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field entryId string
---@field label string|vim.NIL

--- What a model sees of an entry.
---
--- `replacement` null leaves it out of the context, `{content}` puts that in its place; `restore` takes either back.
--- Exactly one of the two is given.
---@class piserver.EditContextParams: piserver.RequestParams
---@field sessionId string
---@field expectedLeafId? string|vim.NIL
---@field idempotencyKey? string
---@field entryId string
---@field replacement? piserver.Replacement|vim.NIL
---@field restore? boolean default `false`

--- A window of a session's rows.
---@class piserver.GetTreeParams: piserver.RequestParams
---@field filter? piserver.Filter default `"default"`
---@field query? string default `""`
---@field collapsed? string[]
---@field offset? integer default `0`, at least 0
---@field limit? integer default `200`, 1 to 1000
---@field around? string
---@field sessionId string

--- A window of the tree.
---@class piserver.GetTreeResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field window piserver.RowWindow

--- Whole entries by id. The answer holds no more than about `maxBytes` of them, but at least one.
---@class piserver.GetEntriesParams: piserver.RequestParams
---@field sessionId string
---@field ids string[] at most 10000
---@field maxBytes? integer default `16777216`, 1 to 67108864

--- The entries as they stand in the file, in the order asked for; `remaining` are the ids still to be asked for.
---@class piserver.GetEntriesResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field entries any[]
---@field remaining string[]

--- The path to an entry, by default the leaf (null: the empty path); a page of it.
---@class piserver.GetPathParams: piserver.RequestParams
---@field sessionId string
---@field entryId? string|vim.NIL
---@field offset? integer default `0`, at least 0
---@field limit? integer default `200`, 1 to 1000

--- The entries from the root on, `total` in all.
---@class piserver.GetPathResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field total integer
---@field offset integer
---@field entries piserver.EntrySummary[]

--- An entry in brief. `index` is its place in file order; `preview` one line of at most 160 characters.
---
--- `failed` marks an answer that ended in an error or was aborted. `leftLeafId`, on a branch summary, is the end of the
--- branch that was left.
---@class piserver.EntrySummary
---@field id string
---@field parentId? string
---@field index integer
---@field type string
---@field role? string
---@field timestamp string
---@field preview string
---@field label? string
---@field failed? boolean
---@field leftLeafId? string

--- The path to an entry, by default the leaf, a page of it.
---
--- `last` takes the page from the end: the last `limit` items before the last `offset`. With `after`, the items behind
--- that entry are given instead. With `ids`, those entries alone, whatever path they are on.
---@class piserver.TranscriptParams: piserver.RequestParams
---@field sessionId string
---@field entryId? string|vim.NIL
---@field offset? integer default `0`, at least 0
---@field limit? integer default `100`, 1 to 1000
---@field last? boolean default `false`
---@field after? string
---@field ids? string[]

--- The items from `offset` of the path on, `total` in all. Fewer than asked for where they are large.
---@class piserver.TranscriptResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field total integer
---@field offset integer
---@field items piserver.TranscriptItem[]

--- An entry as it is read. `title` says who or what, `about` a little more (a model, a size).
---
--- `note`s are one line: a model change, a label, a jump. `inContext`: a model would see it now.
---@class piserver.TranscriptItem
---@field entryId string
---@field kind "assistant"|"compaction"|"custom"|"note"|"opaque"|"shell"|"summary"|"system"|"tool"|"user"
---@field title string
---@field about string
---@field timestamp string
---@field label? string
---@field inContext? boolean
---@field parts piserver.TranscriptPart[]

--- A piece of an entry.
---
--- `prose` is Markdown, `code` text to be shown as it is (`language` names a language or a file), `diff` lines that
--- begin with `+`, `-`, `@` or a space, `image` base64 `data` of `mediaType` (without
--- `data` it cannot be shown: `text` says what it is), `remark` a sentence about what is shown,
--- `fold` further `parts` behind the line `name`: `title`. A fold's `fold` says what it is; `open`: shown unfolded;
--- `failure`: it went wrong. `callId` joins the fold of a call with that of its result. `cut` counts the characters
--- that were left out; `session/getEntries` has all of it.
---@class piserver.TranscriptPart
---@field kind "code"|"diff"|"fold"|"image"|"prose"|"remark"
---@field text? string
---@field language? string
---@field mediaType? string
---@field data? string
---@field fold? "call"|"more"|"result"|"thinking"
---@field name? string
---@field title? string
---@field callId? string
---@field parts? piserver.TranscriptPart[]
---@field open? boolean
---@field failure? boolean
---@field cut? integer

--- A position that the client has seen.
---@class piserver.ChangesParams: piserver.RequestParams
---@field sessionId string
---@field epoch string
---@field since integer at least 0
---@field limit? integer default `1000`, 1 to 1000

--- What came after `since`, without gap or overlap.
---
--- It reaches up to `through` entries; ask again from there if that is less than `revision`. `labels` holds what the
--- new entries say of labels, "" for cleared ones (some clients' JSON drops null); `name` likewise.
---
--- A position that the log cannot serve is answered `stale-cursor`, with a fresh `snapshot` in the error's data.
---@class piserver.ChangesResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field since integer
---@field through integer
---@field appended piserver.EntrySummary[]
---@field labels table<string, string>
---@field name? string
---@field newerLeafId? string

--- The context at an entry, by default the leaf (null: before the first entry), without moving.
---
--- `form` `messages`: as projected from the log. `llm`: user, assistant and toolResult messages alone, every tool call
--- answered once, made fit for `model` if that is given. `estimates` false leaves out token estimates, which need every
--- message decoded; `excluded` false leaves out what is not in.
---@class piserver.BuildContextParams: piserver.RequestParams
---@field sessionId string
---@field entryId? string|vim.NIL
---@field form? "llm"|"messages" default `"messages"`
---@field model? piserver.TargetModel
---@field estimates? boolean default `true`
---@field excluded? boolean default `true`

--- The model for which a context is made fit. `api` is its API family; `images` whether it takes them.
---@class piserver.TargetModel
---@field provider string
---@field modelId string
---@field api string
---@field images? boolean default `true`

--- The messages in order with their sources, the state at the entry, and what was left out or changed.
---@class piserver.BuildContextResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field entryId? string
---@field form "llm"|"messages"
---@field state piserver.ContextState
---@field messages piserver.ContextMessage[]
---@field tokens? piserver.ContextTokens
---@field excluded piserver.ExcludedEntry[]
---@field changes piserver.ContextChange[]
---@field diagnostics piserver.Diagnostic[]

--- One message of a context and where it comes from.
---
--- `reason`: `on-path` (no compaction on the path), `compaction` (the newest one), `kept` (by it), `after-compaction`.
--- `tokens` is the estimate for this message alone; absent if estimates were not asked for.
---@class piserver.ContextMessage
---@field message any
---@field entryId string
---@field reason "after-compaction"|"compaction"|"kept"|"on-path"
---@field tokens? integer

--- An estimate of a context: what a provider reported last (`usage`), plus an estimate of what came after.
---
--- `usageEntryId` is the answer whose usage was taken; null if everything is estimated.
---@class piserver.ContextTokens
---@field total integer
---@field usage integer
---@field trailing integer
---@field usageEntryId? string

--- An entry of the path that gives no message, and why.
---@class piserver.ExcludedEntry
---@field entryId string
---@field reason "before-compaction"|"edited-out"|"empty"|"not-a-message"|"older-compaction"|"replaced-system"|"transformed-out"

--- Something that was changed to make the context fit for a provider; `detail` names the block or call.
---@class piserver.ContextChange
---@field kind "blank-text-dropped"|"call-id-changed"|"duplicate-call-omitted"|"duplicate-result-omitted"|"empty-message-omitted"|"empty-result-filled"|"failed-answer-omitted"|"image-replaced"|"result-inserted"|"signature-removed"|"thinking-dropped"|"unpaired-result-omitted"
---@field entryId string
---@field detail? string

--- What to look for, and where: one session, the sessions of a working directory (by their header), or all.
---
--- `query` holds words that must all be in an entry, "quoted" ones as phrases, or with `regex` one expression in RE2's
--- syntax. Labels, session names and whole entry ids are found as well. `roles` and `types` narrow the entries; empty
--- means all, and names are found only then.
---@class piserver.SearchParams: piserver.RequestParams
---@field query string
---@field sessionId? string
---@field cwd? string
---@field regex? boolean default `false`
---@field matchCase? boolean default `false`
---@field roles? string[]
---@field types? string[]
---@field limit? integer default `100`, 1 to 1000

--- Newest first: sessions by their last change, entries of one session from the end of its file.
---
--- An entry that a fork shares with its source is found once. `limited`: there are more than `limit`.
--- `sessionsSearched` counts the files that were looked at. With a `partialResultToken` the hits come in `$/progress`
--- notifications of this shape as they are found, and the result holds none.
---@class piserver.SearchResult
---@field hits piserver.SearchHit[]
---@field sessionsSearched integer
---@field limited boolean

--- One place where the query was found.
---
--- `match` says in what: an entry's `text`, its `label`, its `id`, or the session's `name` (then there is no entry).
--- `snippet` is one line of at most 160 characters around it, `ranges` the matches in that. The session may not be
--- open: open it by `path`.
---@class piserver.SearchHit
---@field sessionId string
---@field path string
---@field sessionName? string
---@field match "id"|"label"|"name"|"text"
---@field snippet string
---@field ranges piserver.TextRange[]
---@field entryId? string
---@field type? string
---@field role? string
---@field timestamp? string
---@field branch? piserver.Branch

--- A part of a text, from `start` up to `end`, in UTF-16 units.
---@class piserver.TextRange
---@field start integer
---@field end integer

--- The branch on which an entry lies.
---
--- `leafId` is its newest end, `label` the nearest label between the entry and that end, `lastActivity` the end's time
--- (ISO-8601). `onPath`: the entry is on the way to the session's leaf.
---@class piserver.Branch
---@field leafId string
---@field label? string
---@field lastActivity string
---@field onPath boolean

--- What of a session, and how: to be read (`markdown`, `html`), or as a session file of its own (`jsonl`).
---
--- `scope` `path`: the way to `entryId`, by default to the leaf (null: the empty path). `tree`: all branches, without
--- `entryId`. `redact` replaces keys, tokens and passwords of the usual shapes. With `path` the export is written
--- there, only for the person to read; a file that exists stays as it is unless `overwrite` is true.
---@class piserver.ExportParams: piserver.RequestParams
---@field sessionId string
---@field form "html"|"jsonl"|"markdown"
---@field scope? "path"|"tree" default `"path"`
---@field entryId? string|vim.NIL
---@field redact? boolean default `false`
---@field path? string
---@field overwrite? boolean default `false`

--- An export of `size` bytes: the `path` where it was written, else its `content`.
---
--- `fileName` is a name under which it may be kept.
---@class piserver.ExportResult
---@field mediaType string
---@field fileName string
---@field size integer
---@field content? string
---@field path? string
---@field redactions piserver.Redaction[]

--- How many secrets of one kind were replaced by `[redacted:KIND]`, and in which entries (none: in the header).
---@class piserver.Redaction
---@field kind string
---@field count integer
---@field entryIds string[]

--- An entry, by default the leaf.
---@class piserver.StatsParams: piserver.RequestParams
---@field sessionId string
---@field entryId? string|vim.NIL

--- Totals of the file and of the path to the entry, and the estimate of the context there.
---
--- `window` and `percent` (0 to 100) are null while the model's window is not known.
---@class piserver.StatsResult
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field file piserver.Statistics
---@field path piserver.Statistics
---@field context piserver.ContextTokens
---@field window? integer
---@field percent? number

--- A session by `sessionId` or by the `path` of its file, which is not opened for that.
---@class piserver.VerifyParams: piserver.RequestParams
---@field sessionId? string
---@field path? string

--- What was found in a file, all `diagnostics`, and the `steps` that `session/repair` would take.
---
--- `size` is in bytes, `lines` counts physical lines, `entries` those that can be read. `refused` says why the file
--- would not be repaired at this moment; null if nothing hinders that.
---@class piserver.VerifyResult
---@field path string
---@field sessionId string
---@field version number
---@field size integer
---@field sha256 string
---@field lines integer
---@field entries integer
---@field leafId? string
---@field diagnostics piserver.Diagnostic[]
---@field steps piserver.RepairStep[]
---@field refused? string

--- One thing that mending does to a file. `line` counts physical lines from 1; `offset` and `size` are bytes.
---
--- `split-line`: entries found on a damaged line get lines of their own. `set-aside-line`: what is no entry goes to
--- `.damaged`. `set-aside-duplicate`: so does an entry whose id another one has already. `cut-tail`: what a crash left
--- of the last line goes to `.torn`. `end-last-line`: the last line gets its end.
---@class piserver.RepairStep
---@field kind piserver.RepairStepKind
---@field line integer
---@field offset integer
---@field size integer
---@field reason string

--- A session by `sessionId` or by the `path` of its file.
---@class piserver.RepairParams: piserver.RequestParams
---@field sessionId? string
---@field path? string

--- What was done, and the file as it is now.
---
--- `backup` holds what it was, `damaged` and `torn` what was taken out; null where there was nothing to keep. Without
--- `steps` nothing was wrong that could be mended, and nothing was changed. `diagnostics` are what remains: what whole
--- entries say of each other.
---@class piserver.RepairResult
---@field path string
---@field sessionId string
---@field size integer
---@field sha256 string
---@field entries integer
---@field steps piserver.RepairStep[]
---@field diagnostics piserver.Diagnostic[]
---@field backup? string
---@field damaged? string
---@field torn? string

--- `status`: who has the session. `take`: have it, for the server's own changes alone. `release`: give it back.
---
--- `force` takes it from somebody who has it. `purpose` is shown to others.
---@class piserver.LeaseParams: piserver.RequestParams
---@field sessionId string
---@field action? "release"|"status"|"take" default `"status"`
---@field force? boolean default `false`
---@field purpose? string

--- Who has the session now; null if nobody has. `own`: it is this server.
---
--- `previous`: who has lost it by being taken over from, or by ending without giving it back.
---@class piserver.LeaseResult
---@field sessionId string
---@field owner? piserver.LeaseOwner
---@field own boolean
---@field previous? piserver.LeaseOwner

--- The tree has grown from `fromRevision` to `revision`.
---
--- `appended` are the new entries in brief, as far as they fit; `appendedIds` the rest, to be fetched. `labels` and
--- `name` hold what changed, "" for what was cleared. `reset`: the file was replaced or too much was missed; ask for a
--- snapshot.
---@class piserver.TreeChanged
---@field sessionId string
---@field epoch string
---@field revision integer
---@field leafId? string
---@field fromRevision integer
---@field appended piserver.EntrySummary[]
---@field appendedIds string[]
---@field labels table<string, string>
---@field name? string
---@field newerLeafId? string
---@field origin piserver.ChangeOrigin
---@field reset? boolean

--- Who caused a change.
---
--- A `client`'s request (`requestId`), an `agent` run, another program (`external`), or several of them, where
--- notifications were put together for a slow reader (`mixed`).
---@class piserver.ChangeOrigin
---@field kind "agent"|"client"|"external"|"mixed"
---@field requestId? string|integer

--- A session came, went or got another name. `info` is absent for one that is gone.
---@class piserver.ListChanged
---@field reason "created"|"deleted"|"renamed"
---@field sessionId string
---@field path string
---@field info? piserver.SessionInfo

--- Another server has the session than before, or none (null). `lost`: this server had it, and has it no more.
---@class piserver.LeaseChanged
---@field sessionId string
---@field owner? piserver.LeaseOwner
---@field lost? boolean

--- Every request, by its method.
---@class piserver.Methods
---@field ['session/create'] fun(params: piserver.CreateParams): piserver.Snapshot
---@field ['session/open'] fun(params: piserver.OpenParams): piserver.Snapshot
---@field ['session/close'] fun(params: piserver.CloseParams): piserver.Empty
---@field ['session/list'] fun(params: piserver.ListParams): piserver.ListResult
---@field ['session/latest'] fun(params: piserver.LatestParams): piserver.LatestResult
---@field ['session/delete'] fun(params: piserver.DeleteParams): piserver.DeleteResult
---@field ['session/rename'] fun(params: piserver.RenameParams): piserver.ChangeResult
---@field ['session/append'] fun(params: piserver.AppendParams): piserver.ChangeResult
---@field ['session/moveTo'] fun(params: piserver.MoveToParams): piserver.MoveResult
---@field ['session/navigate'] fun(params: piserver.NavigateParams): piserver.NavigateResult
---@field ['session/fork'] fun(params: piserver.ForkParams): piserver.ForkResult
---@field ['session/clone'] fun(params: piserver.CloneParams): piserver.ForkResult
---@field ['session/setLabel'] fun(params: piserver.SetLabelParams): piserver.ChangeResult
---@field ['session/editContext'] fun(params: piserver.EditContextParams): piserver.ChangeResult
---@field ['session/getTree'] fun(params: piserver.GetTreeParams): piserver.GetTreeResult
---@field ['session/getEntries'] fun(params: piserver.GetEntriesParams): piserver.GetEntriesResult
---@field ['session/getPath'] fun(params: piserver.GetPathParams): piserver.GetPathResult
---@field ['session/getTranscript'] fun(params: piserver.TranscriptParams): piserver.TranscriptResult
---@field ['session/changes'] fun(params: piserver.ChangesParams): piserver.ChangesResult
---@field ['session/buildContext'] fun(params: piserver.BuildContextParams): piserver.BuildContextResult
---@field ['session/search'] fun(params: piserver.SearchParams): piserver.SearchResult
---@field ['session/export'] fun(params: piserver.ExportParams): piserver.ExportResult
---@field ['session/stats'] fun(params: piserver.StatsParams): piserver.StatsResult
---@field ['session/verify'] fun(params: piserver.VerifyParams): piserver.VerifyResult
---@field ['session/repair'] fun(params: piserver.RepairParams): piserver.RepairResult
---@field ['session/lease'] fun(params: piserver.LeaseParams): piserver.LeaseResult

--- Every notification from the server, by its method.
---@class piserver.Notifications
---@field ['session/treeChanged'] piserver.TreeChanged
---@field ['session/listChanged'] piserver.ListChanged
---@field ['session/leaseChanged'] piserver.LeaseChanged

return { version = 1 }
