"""The Markdown form: headings for who speaks, folds for thinking and tools, fences for what is shown as it is.

It holds one level-one heading and level-two headings of its own; whatever is inside a message stays inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from piserver.repository.export.highlight import language_name
from piserver.repository.export.images import placeholder
from piserver.repository.export.plan import Branch, Plan
from piserver.repository.export.prose import fence, plain, to_markdown
from piserver.repository.export.story import Story, anchor, moment
from piserver.session.transcript.parts import Code, Diff, Fold, Image, Part, Prose, Remark, Section
from piserver.session.transcript.visible import visible

_DEEPEST = 12
"""Levels up to which the outline is indented."""


def head(story: Story) -> str:
    """Title and facts."""
    facts = "".join(f"- {plain(name)}: {plain(value)}\n" for name, value in story.facts)
    return f"# {plain(story.title)}\n\n{facts}"


def contents(plan: Plan, previews: dict[str, str], labels: dict[str, str]) -> Iterator[str]:
    """The outline of the tree as a list of links."""
    yield "\n## Outline\n\n"
    for node in plan.nodes:
        guides = plan.guides.get(node.id)
        if guides is None:
            continue
        indent = "  " * min(len(guides), _DEEPEST)
        label = f" **{plain(labels[node.id])}**" if node.id in labels else ""
        text = f"[{plain(previews[node.id][:100])}](#{anchor(node)}){label}"
        yield f"{indent}- {text}{'' if node.id in plan.on_path else ' *(other branch)*'}\n"


def sections(items: Iterable[Section], plan: Plan, previews: dict[str, str]) -> str:
    """Entries, one below the other; `previews` of what stands above them."""
    return "".join(_section(section, plan, previews) for section in items)


def _section(section: Section, plan: Plan, previews: dict[str, str]) -> str:
    node = section.node
    out: list[str] = []
    branch = plan.branches.get(node.id)
    if branch is not None:
        out.append(f"\n---\n\n## {_branch(branch, previews)}\n")
    if plan.whole and node.id in plan.guides:
        out.append(f'\n<a id="{anchor(node)}"></a>\n')
    label = f" — **{plain(section.label)}**" if section.label else ""
    about = f" ({plain(section.about)})" if section.about else ""
    if section.kind == "note":
        out.append(f"\n*{plain(section.title)}: {plain(section.about)}*{label}\n")
    elif section.kind in ("tool", "shell", "opaque", "system"):
        out.append(f"\n{label}\n" if label else "")
    else:
        out.append(f"\n## {plain(section.title)}{about}{label}\n\n*{plain(moment(node))}*\n")
    out += [f"\n{_part(part)}\n" for part in section.parts]
    return "".join(out)


def _branch(branch: Branch, previews: dict[str, str]) -> str:
    if branch.start is None:
        return f"Beginning {branch.number} of {branch.count}"
    start = plain(previews.get(branch.start.id, branch.start.id)[:60])
    return f"Branch {branch.number} of {branch.count} from [{start}](#{anchor(branch.start)})"


def _part(part: Part) -> str:
    match part:
        case Prose(text):
            return to_markdown(text)
        case Code(text, language):
            return fence(visible(text), language_name(language))
        case Diff(lines):
            return fence("\n".join(visible(text) for text in lines), "diff")
        case Image():
            return f"*{plain(placeholder(part))}*"
        case Remark(text):
            return f"*{plain(text)}*"
        case Fold():
            return _fold(part)


def _fold(fold: Fold) -> str:
    # Behind the blank line it is Markdown again; inside the summary it is HTML.
    title = escape(" ".join(f"{fold.name} {fold.title}".split()))
    mark = " (failed)" if fold.failure else ""
    if not fold.parts:
        return f"*{plain(f'{fold.name} {fold.title}')}*{mark}"
    inner = "\n\n".join(_part(part) for part in fold.parts)
    return f"<details{' open' if fold.open else ''}><summary>{title}{mark}</summary>\n\n{inner}\n\n</details>"
