"""The tree that an archive's members form, and every rule that keeps it inside its own folder. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from artifacts.archives.members import Kind, Limits, Member, too_many
from artifacts.archives.pool import Content
from artifacts.errors import ArchiveRefused
from artifacts.paths import path_problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is kept of a member: a folder, a link with its target, or a file with its content."""

    path: str
    kind: Kind
    is_executable: bool = False
    target: str = ""
    content: Content | None = None


@dataclass(slots=True)
class Tree:
    """Grows member by member; each is refused unless it lies inside and on nothing but folders."""

    limits: Limits
    entries: dict[str, Entry] = field(default_factory=dict)

    def place(self, member: Member) -> str | None:
        """The path at which the member may lie, with its folders made; None for the root folder itself."""
        path = _normalised(member.name)
        if path == "" and member.kind is Kind.FOLDER:
            return None
        if problem := path_problem(path):
            raise ArchiveRefused.of(member.name, problem)
        if member.kind is Kind.SPECIAL:
            raise ArchiveRefused.of(
                member.name, _("devices, pipes and sockets are not allowed, only files, folders and links")
            )
        for folder in _folders_above(path):
            self._add_folder(folder, member.name)
        return path

    def add(self, entry: Entry) -> None:
        """Keep it; refuse what is there twice, except folders, and what is one too many."""
        present = self.entries.get(entry.path)
        is_folder_again = present is not None and present.kind is entry.kind is Kind.FOLDER
        if present is not None and not is_folder_again:
            raise ArchiveRefused.of(entry.path, _("there are two members of this name"))
        self.entries[entry.path] = entry
        if len(self.entries) > self.limits.num_members:
            raise too_many(self.limits)

    def link_target(self, member: Member, path: str) -> str:
        """A symbolic link's target, if it cannot lead outside.

        “..” may only come first, where every step passes a real folder: after another link it would lead up
        from wherever that one leads.
        """
        parts = PurePosixPath(member.target).parts
        num_up = next((index for index, part in enumerate(parts) if part != ".."), len(parts))
        depth = path.count("/")
        if member.target.startswith("/") or num_up > depth or ".." in parts[num_up:]:
            raise ArchiveRefused.of(member.name, _outside())
        if not parts[num_up:] and num_up == 0:
            raise ArchiveRefused.of(member.name, _("it is a link to nothing"))
        if rest := "/".join(parts[num_up:]):
            self._check_target(member, rest)
        return "/".join(parts)

    def hard_link_content(self, member: Member) -> Entry:
        """The file that a hard link names: one that came before it, in this archive."""
        present = self.entries.get(_normalised(member.target))
        if present is None or present.kind is not Kind.FILE:
            raise ArchiveRefused.of(member.name, _outside())
        return present

    def in_order(self) -> Iterator[Entry]:
        """Every entry by path, folders before what is in them."""
        return (self.entries[path] for path in sorted(self.entries))

    def _add_folder(self, path: str, member_name: str) -> None:
        present = self.entries.get(path)
        if present is None:
            self.add(Entry(path=path, kind=Kind.FOLDER))
        elif present.kind is not Kind.FOLDER:
            raise ArchiveRefused.of(member_name, _("it lies below something that is not a folder"))

    def _check_target(self, member: Member, rest: str) -> None:
        if problem := path_problem(rest):
            raise ArchiveRefused.of(member.name, problem)


def _outside() -> str | Promise:
    return _("it is a link that leads outside of the archive")


def _normalised(name: str) -> str:
    """`./a//b/` as `a/b`; whatever leads outside stays as it is, to be refused."""
    if name.startswith("/"):
        return name
    return "/".join(part for part in name.split("/") if part not in ("", "."))


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: index + 1]) for index in range(len(parts))]
