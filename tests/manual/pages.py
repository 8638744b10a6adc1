"""The literal blocks of the manual, and the commands in them."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / 'doc' / 'source'
HOW_TO = sorted((SOURCE / 'how-to').glob('*.rst'))
PAGES = [ROOT / 'README.rst', *sorted(SOURCE.glob('*.rst')), *HOW_TO]
PROGRAMS = re.compile(
    r'apt-get|chmod|chown|curl|env|helm|install|journalctl|kill|kubectl|ln|mv|openstack|oslo-config-validator|pip|placement-(policy|worker-status)|promtool|python3?'
    r'|rabbitmq(ctl|-diagnostics|-queues)|rm|rsync|sed|sudo|systemctl|systemd-analyze|test|tox|useradd|userdel'
)
DIRECTIVE = re.compile(r'( *)\.\. code-block:: (\w+)$')
OPTION = re.compile(r' *:(\w+): (.*)')


@dataclass(frozen=True, slots=True)
class Block:
    """A literal block.

    :ivar line: the line of the block in the page; the first line is 1.
    :ivar kind: the language of the block, or `::` for a block without one.
    """

    page: str
    line: int
    kind: str
    caption: str
    text: str
    after: str = ''
    """The line before the block."""

    @property
    def commands(self) -> list[str]:
        """The commands of a shell block, each on one line and without its comment."""
        lines = [
            re.sub(r'(^|\s+)#( .*|$)', '', line).strip()
            for line in self.text.replace('\\\n', '').splitlines()
        ]
        return [line for line in lines if line] if self.is_shell else []

    @property
    def is_shell(self) -> bool:
        """Whether the language is bash or the first word is a known program."""
        return self.kind == 'bash' or (
            self.kind == '::' and starts_program(self.text.partition('\n')[0])
        )

    @property
    def is_output(self) -> bool:
        """Whether the block is the output of the block before it."""
        return self.kind == 'text' or (self.kind == '::' and self.after.endswith('prints::'))

    @property
    def place(self) -> str:
        return f'{self.page}:{self.line}'


def starts_program(line: str) -> bool:
    """Return whether a line is a command; `placement-worker decides ...` is a log line."""
    words = line.split() or ['']
    return bool(PROGRAMS.fullmatch(Path(words[0]).name)) or words[:2] == [
        'placement-worker',
        '--config-file',
    ]


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def blocks(page: Path) -> list[Block]:
    return list(_blocks(page.name, page.read_text().splitlines()))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    number, before = 0, ''
    while number < len(lines):
        line = lines[number]
        number += 1
        directive = DIRECTIVE.match(line)
        if directive or (line.endswith('::') and not line.lstrip().startswith('.. ')):
            start, indent = number, indentation(next(filter(None, lines[number:]), ''))
            while number < len(lines) and (
                not lines[number] or indentation(lines[number]) >= max(indent, 1)
            ):
                number += 1
            options, text = _parted(lines[start:number], directive is not None)
            kind = directive[2] if directive else '::'
            yield Block(
                page, start, kind, options.get('caption', ''), text, before if directive else line
            )
        before = line or before


def _parted(lines: list[str], has_options: bool) -> tuple[dict[str, str], str]:
    """Return the options of a directive, and its text without indentation."""
    options: dict[str, str] = {}
    while has_options and lines and (option := OPTION.match(lines[0])):
        options[option[1]] = option[2]
        lines = lines[1:]
    indent = min((indentation(line) for line in lines if line), default=0)
    return options, '\n'.join(line[indent:] for line in lines).strip('\n')


def unknown(block: Block) -> list[str]:
    """Return lines that may be commands of unknown programs."""
    if block.is_shell:
        other = [line for line in block.commands if not starts_program(line)]
        return [line for line in other if not re.match(r'export \w+=', line)]
    first = (block.text.split() or [''])[0]
    return [first] if block.kind == '::' and not block.is_output and shutil.which(first) else []
