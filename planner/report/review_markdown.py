"""A review page as Markdown: the same parts, a chart as the table of its numbers."""

from __future__ import annotations

from planner.report.markdown import bullets, escape, table
from planner.report.page import Block, Bullets, Figure, Heading, Page, Paragraph


def page_markdown(page: Page) -> str:
    """The page as Markdown text; names are escaped, so that none is read as markup."""
    blocks = [f"# {escape(page.name)}", f"**{escape(page.summary[0])}** {escape(' '.join(page.summary[1:]))}"]
    for section in page.sections:
        blocks.append(f"## {escape(section.title)}")
        for block in section.blocks:
            blocks += _block(block)
    blocks.append(f"---\n\n{escape(page.stamp)}")
    return "\n\n".join(b for b in blocks if b) + "\n"


def _block(block: Block) -> list[str]:
    if isinstance(block, Heading):
        return [f"### {escape(block.text)}"]
    if isinstance(block, Paragraph):
        return [escape(block.text)]
    if isinstance(block, Bullets):
        return [bullets(block.lines)]
    if isinstance(block, Figure):
        return [f"### {escape(block.title)}", escape(block.caption), table(block.table.heads, block.table.rows)]
    return [escape(block.caption), table(block.heads, block.rows)]
