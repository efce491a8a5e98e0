"""Where piserver and the real implementations answer differently, and which rule of ours asks for it.

Every difference stands here, and everything here is a difference: `test_peers.py` fails for one too few or too many.
"""

WHOLE_PATH = (
    "A path goes up to the root, and state is replayed along all of it. 0.83.0 ends it at the first entry that a "
    "compaction kept, which also leaves its forks with parents that are not there."
)
OLDER_COMPACTION = (
    "A compaction inside the range that a newer one keeps is passed over, and the range begins where the newer one "
    "says. 0.83.0 repeats the older summary and lets the older one shorten the range."
)
KEPT_RANGE = (
    "The entries of the context are told apart from their messages: an older compaction in the kept range is not one "
    "of them, a system message that a checkpoint replaces is one without a message. 1.6.0 does it the other way round. "
    "The messages are the same."
)
RETAINED_TAIL = (
    "A compaction with `retainedTail`, even an empty one, keeps those messages. 1.6.0 does not know the field."
)
CONTEXT_EDIT = "The newest context edit on the path counts. 0.83.0 does not know them."
SYSTEM_MESSAGE = (
    "System messages in the log stay in the context as messages, are dropped for the model, whose turn brings its own "
    "prompt, and so count no tokens. A compaction that carries one puts it first in place of those it kept; 0.83.0 "
    "does not know that, 1.6.0 sends them all."
)
NULL_CONTENT = (
    "A message whose content is null or missing has empty content. The peers hand it on, and then fail on it."
)
NO_MESSAGE = "A message entry without a message contributes nothing. The peers fail on it."
NO_DATE = "A timestamp that is no date is null, as JSON writes JavaScript's NaN."
JUMP = "A file that ends in a jump is open where the jump leads. 1.6.0 does not know leaf entries."
JUMP_TO_NOWHERE = (
    "A jump that names no entry of the file leads nowhere: the leaf is the jump's own parent, or stays if no target is "
    "named. 0.83.0 fails on it; for 1.6.0 the jump itself is the leaf."
)
NO_FORK_AT_A_JUMP = "A leaf entry is no place to fork at, nor the last that a fork copies: it would move the leaf."
FORK_TAKES_LABELS = (
    "The labels of copied entries and the name come along into a fork, appended where they lie off the path."
)
BYTES_KEPT = "A fork copies lines as they stand. 0.83.0 writes its numbers anew, which loses digits and the sign of -0."
FIRST_ONE_COUNTS = "Of two entries with one id the first one counts. For the peers' look-ups it is the last one."
ORPHANED_ROOT = "An entry whose parent is missing is a root. 0.83.0 fails on every path through it."
CYCLE = "A cycle of parents is cut above its earliest entry. The peers never return from it."
FILE_ORDER = "Siblings stand in the order of the file. 1.6.0 sorts them by time."
DAMAGED_LINE = (
    "A line that is no entry is skipped, everything else is read. 0.83.0 refuses the file; 1.6.0 takes any JSON for an "
    "entry."
)
SECOND_HEADER = "A second header is kept as an opaque entry. 0.83.0 refuses the file, 1.6.0 drops the line."
BYTE_ORDER_MARK = "A byte-order mark before the header is passed over. Neither peer opens such a file."
BLANK_FIRST_LINE = (
    "What opens is listed: blank lines before the header are passed over. 0.83.0 does so only on opening."
)
FINAL_NEWLINE = (
    "Opening never writes; the next append first ends a line that was left without an end. 1.6.0 does that on opening; "
    "0.83.0 never does it and destroys the line."
)
EMPTY_FILE = "An empty file is not a session. 1.6.0 makes one of it on opening."
OLD_VERSION = (
    "Versions 1 and 2 are migrated in memory, with ids that every reader gives alike, and written at the first append. "
    "0.83.0 refuses them, 1.6.0 rewrites the file on opening with random ids."
)
NEWER_VERSION = "A newer version is opened read-only. 0.83.0 refuses it, 1.6.0 writes to it."
HEADER_LACKS = "A header without a working directory opens, with an empty one. 0.83.0 refuses it, 1.6.0 makes one up."
HEADER_FIELDS = "Unknown fields of the header stay in the file and are not shown."
METADATA = "A list shows no metadata."
LINES_END_AT_LF = "Lines end at LF everywhere. 1.6.0 lists a file whose lines it also ends at U+2028 and U+2029."
LABEL_NOT_TEXT = "A label that is no text clears the label. 0.83.0 refuses the file, 1.6.0 takes it as it is."
LABEL_TRIMMED = "Labels are trimmed, and a blank one clears. 1.6.0 takes them as they are."
NAME_ON_ONE_LINE = "Line breaks in a name are read as spaces. The peers replace them only when they write one."
USAGE_COUNTED = (
    "Totals count all usage in the file: of `usage` entries, which 0.83.0 does not know, and of summaries, under a "
    "name of our own; missing parts count 0, where 1.6.0 fails."
)


# What follows from the leaf, and what follows from the context's messages.
_LEAF = "appendAndReopen branch contextEntryIds leafId projection"
_MESSAGES = "context.messages llm"
_TOKENS = "contextTokens tokens"
_PROJECTED = f"{_TOKENS} projectedTokens"
_FORK_FILES = "forkFileAll forkFileAtLeaf"

Row = tuple[str, str, str, str]
"""Reason, version of the peer, cases, questions: in each of the cases it answers each of the questions differently."""

DIFFERENCES: list[Row] = [
    # Paths
    (
        WHOLE_PATH,
        "0.83.0",
        (
            "comp-file-lists comp-kept-assistant comp-kept-model-change comp-kept-user comp-retained-tail"
            " comp-retained-tail-empty comp-two comp-two-kept-before-older comp-two-newer-keeps-older-range"
            " settings-before-first-kept system-in-compaction"
        ),
        f"appendAndReopen branch branchFrom forkAt forkBefore {_FORK_FILES}",
    ),
    (WHOLE_PATH, "0.83.0", "comp-last-entry", f"appendAndReopen branch branchFrom forkAt {_FORK_FILES}"),
    (WHOLE_PATH, "0.83.0", "comp-jump-before-kept comp-jump-into-kept", "branchFrom forkAt forkBefore"),
    (WHOLE_PATH, "0.83.0", "comp-on-abandoned-branch", "branchFrom forkAt forkBefore"),
    (WHOLE_PATH, "0.83.0", "comp-retained-tail-empty settings-before-first-kept", "context.thinkingLevel"),
    (WHOLE_PATH, "0.83.0", "settings-before-first-kept", "context.activeToolNames context.model"),
    (
        ORPHANED_ROOT,
        "0.83.0",
        "parent-missing",
        f"appendAndReopen branch branchFrom contextEntryIds {_MESSAGES} {_TOKENS} forkAt forkBefore {_FORK_FILES}",
    ),
    (CYCLE, "0.83.0", "parent-cycle parent-self", "branch branchFrom"),
    (CYCLE, "1.6.0", "parent-cycle parent-self", "branch branchFrom"),
    (CYCLE, "1.6.0", "parent-cycle", "tree"),
    (FILE_ORDER, "1.6.0", "branch-timestamps-out-of-order", "tree"),
    # The leaf
    (JUMP, "1.6.0", "branch-leaf-between-tips leaf-at-end leaf-null-at-end", f"{_LEAF} {_MESSAGES}"),
    (JUMP, "1.6.0", "leaf-at-end leaf-null-at-end", _PROJECTED),
    (JUMP, "1.6.0", "leaf-null-at-end", "context.model"),
    (JUMP_TO_NOWHERE, "1.6.0", "leaf-target-field-absent leaf-to-missing", _LEAF),
    (
        JUMP_TO_NOWHERE,
        "0.83.0",
        "leaf-to-missing",
        f"appendAndReopen branch contextEntryIds leafId {_MESSAGES} {_TOKENS} forkFileAll",
    ),
    # The context
    (
        OLDER_COMPACTION,
        "0.83.0",
        "comp-two-kept-before-older comp-two-newer-keeps-older-range",
        f"contextEntryIds {_MESSAGES} {_TOKENS}",
    ),
    (
        KEPT_RANGE,
        "1.6.0",
        "comp-two-kept-before-older comp-two-newer-keeps-older-range system-in-compaction",
        "contextEntryIds projection",
    ),
    (RETAINED_TAIL, "1.6.0", "comp-retained-tail", f"contextEntryIds projection {_MESSAGES}"),
    (RETAINED_TAIL, "1.6.0", "comp-retained-tail-empty", f"contextEntryIds projection {_MESSAGES} {_PROJECTED}"),
    (
        CONTEXT_EDIT,
        "0.83.0",
        "ctxedit-branch-relative ctxedit-last-wins ctxedit-omit ctxedit-replace",
        f"{_MESSAGES} {_TOKENS}",
    ),
    (SYSTEM_MESSAGE, "0.83.0", "system-in-compaction", "context.messages tokens"),
    (SYSTEM_MESSAGE, "1.6.0", "system-in-compaction system-role", f"llm entryTokens {_PROJECTED}"),
    (NULL_CONTENT, "0.83.0", "null-content", f"{_MESSAGES} entryTokens {_TOKENS}"),
    (NULL_CONTENT, "1.6.0", "null-content", "entryTokens list"),
    (NO_MESSAGE, "0.83.0", "null-message", f"{_MESSAGES} entryTokens {_TOKENS} {_FORK_FILES} stats"),
    (NO_MESSAGE, "1.6.0", "null-message", f"{_MESSAGES} projection entryTokens {_PROJECTED} list usageCost"),
    (NO_DATE, "0.83.0", "numbers-timestamps", _MESSAGES),
    (NO_DATE, "1.6.0", "numbers-timestamps", _MESSAGES),
    # Forks
    (
        NO_FORK_AT_A_JUMP,
        "0.83.0",
        (
            "branch-leaf-between-tips branch-nested bsum-after-jump bsum-empty-text bsum-from-root"
            " comp-kept-on-other-branch ctxedit-branch-relative leaf-at-end leaf-branch-append leaf-null-at-end"
            " leaf-null-multi-root leaf-to-leaf-entry leaf-to-missing leaf-to-missing-then-append settings-off-path"
            " usage-entries"
        ),
        "forkAt",
    ),
    (NO_FORK_AT_A_JUMP, "0.83.0", "leaf-to-leaf-entry", "forkBefore"),
    (
        FORK_TAKES_LABELS,
        "0.83.0",
        (
            "cut-metadata-before labels-set-clear-reset labels-whitespace name-cleared name-newlines-clear"
            " name-unicode-trim unicode-u2028-raw"
        ),
        "forkAt",
    ),
    (
        FORK_TAKES_LABELS,
        "0.83.0",
        "cut-metadata-before labels-whitespace name-cleared name-newlines-clear name-unicode-trim unicode-u2028-raw",
        "forkBefore",
    ),
    (BYTES_KEPT, "0.83.0", "numbers-forms", _FORK_FILES),
    # Files
    (
        FIRST_ONE_COUNTS,
        "0.83.0",
        "dup-ids",
        f"appendAndReopen entries open {_MESSAGES} entryTokens {_TOKENS} forkBefore forkFileAll stats",
    ),
    (
        FIRST_ONE_COUNTS,
        "1.6.0",
        "dup-ids",
        f"appendAndReopen entries open {_MESSAGES} entryTokens projection {_PROJECTED} tree",
    ),
    (
        DAMAGED_LINE,
        "0.83.0",
        (
            "bytes-malformed-middle bytes-torn-last-line entry-without-id leaf-target-field-absent lines-scalar"
            " numbers-bad-literals parent-odd"
        ),
        "open",
    ),
    (DAMAGED_LINE, "1.6.0", "entry-without-id", f"entries open tree {_LEAF} {_MESSAGES} {_PROJECTED}"),
    (DAMAGED_LINE, "1.6.0", "lines-scalar", "appendAndReopen entries open tree"),
    (SECOND_HEADER, "0.83.0", "header-second", "open"),
    (SECOND_HEADER, "1.6.0", "header-second", "appendAndReopen entries open tree"),
    (BYTE_ORDER_MARK, "0.83.0", "bytes-bom", "listHeader open"),
    (BYTE_ORDER_MARK, "1.6.0", "bytes-bom", "list open"),
    (BLANK_FIRST_LINE, "0.83.0", "bytes-blank-lines", "listHeader"),
    (FINAL_NEWLINE, "0.83.0", "bytes-no-final-newline", "appendAndReopen"),
    (FINAL_NEWLINE, "1.6.0", "bytes-no-final-newline bytes-torn-last-line", "fileChangedByOpen"),
    (EMPTY_FILE, "1.6.0", "empty-file", "appendAndReopen fileChangedByOpen open"),
    (OLD_VERSION, "0.83.0", "v1-compaction-index v1-plain v2-hook-message", "listHeader open"),
    (OLD_VERSION, "1.6.0", "v1-compaction-index v1-plain v2-hook-message", "fileChangedByOpen header"),
    (OLD_VERSION, "1.6.0", "v1-compaction-index v1-plain", f"{_LEAF} branchFrom entries entryTokens tree"),
    (NEWER_VERSION, "0.83.0", "header-version-4", "listHeader open"),
    (NEWER_VERSION, "1.6.0", "header-version-4", "appendAndReopen"),
    (HEADER_LACKS, "0.83.0", "header-without-cwd", "listHeader open"),
    (HEADER_LACKS, "1.6.0", "header-without-cwd", "header open"),
    (HEADER_FIELDS, "1.6.0", "unknown-types", "header"),
    (METADATA, "0.83.0", "linear-settings", "listHeader"),
    (LINES_END_AT_LF, "1.6.0", "name-unicode-trim unicode-u2028-raw", "list"),
    # Labels, name, totals
    (LABEL_NOT_TEXT, "0.83.0", "labels-wrong-type", "open"),
    (LABEL_NOT_TEXT, "1.6.0", "labels-wrong-type", "labels"),
    (LABEL_TRIMMED, "1.6.0", "labels-whitespace", "labels"),
    (NAME_ON_ONE_LINE, "0.83.0", "name-newlines-clear", f"name {_FORK_FILES}"),
    (NAME_ON_ONE_LINE, "1.6.0", "name-newlines-clear", "list name"),
    (USAGE_COUNTED, "0.83.0", "usage-entries", "stats"),
    (USAGE_COUNTED, "1.6.0", "bsum-after-jump usage-entries", "usageCost"),
]
