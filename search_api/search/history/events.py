"""Writes the events of a declaration as they are answered: commits, dates, ranges, texts."""

from dataclasses import dataclass

from codequarry.search_api.answers.symbol_history import DeclarationHistory, HistoricText, HistoryStart, SymbolEvent
from codequarry.search_api.search.history.declared_texts import DeclaredText
from codequarry.search_api.search.history.lineage import Lineage, LineageEvent
from codequarry.search_api.search.hits import blob_url
from codequarry.search_api.versions.indexed_heads import HeadHistory, IndexedHead
from codequarry.search_api.versions.views import History, View


@dataclass(frozen=True, slots=True)
class HistoryTeller:
    """The indexed heads of a version, to which the events of a declaration refer by position."""

    past: History
    view: View
    history: HeadHistory
    origin: str

    def tell(self, lineage: Lineage) -> DeclarationHistory:
        """Return the history of a declaration, newest event first."""
        newest = lineage.last
        first = self.history.heads[0]
        return DeclarationHistory(
            repo=self.view.repo,
            ref=self.view.ref.name,
            path=newest.chunk.path,
            language=newest.chunk.language,
            symbol=newest.symbol,
            symbol_type=None if newest.shared else newest.chunk.symbol_type,
            exists=lineage.text is not None,
            begins=HistoryStart(
                ref=first.view.ref.name,
                commit=first.view.commit,
                indexed_at=self._indexed_at(first),
                reason="retention" if self.history.expired else "first indexed",
            ),
            events=tuple(self._event(event) for event in reversed(lineage.events)),
        )

    def _event(self, event: LineageEvent) -> SymbolEvent:
        head = self.history.heads[event.state]
        previous = self.history.heads[event.state - 1] if event.state else None
        follows = previous is not None and previous.view.timeline == head.view.timeline
        return SymbolEvent(
            event=event.kind,
            ref=head.view.ref.name,
            commit=head.view.commit,
            indexed_at=self._indexed_at(head),
            previous_commit=previous.view.commit if previous else None,
            commit_count=head.point.commit_count if follows else None,
            range=_range(previous, head),
            rewrote=head.point.rewrote,
            commit_date=None,
            author=None,
            subject=None,
            commits=None,
            before=self._text(event.before, previous),
            after=self._text(event.after, head),
        )

    def _indexed_at(self, head: IndexedHead) -> str | None:
        record = self.past.record(head.view.timeline, head.view.number)
        return record.indexed_at if record else None

    def _text(self, text: DeclaredText | None, head: IndexedHead | None) -> HistoricText | None:
        if text is None or head is None:
            return None
        chunk, view = text.chunk, head.view
        hosted = view.ref.kind != "workspace"
        return HistoricText(
            path=chunk.path,
            symbol=text.symbol,
            commit=view.commit,
            id=chunk.id,
            blob=chunk.blob,
            content_hash=chunk.content_hash,
            start_line=text.start_line,
            end_line=text.end_line,
            signature=None if text.shared else chunk.signature,
            shared=text.shared,
            url=blob_url(self.origin, view.commit, chunk.path, text.start_line, text.end_line) if hosted else None,
        )


def _range(previous: IndexedHead | None, head: IndexedHead) -> str | None:
    """Return the commits between two heads as git log takes them; None at one commit, or in a working tree."""
    if previous is None or previous.view.commit == head.view.commit:
        return None
    if "workspace" in (previous.view.ref.kind, head.view.ref.kind):
        return None
    return f"{previous.view.commit}..{head.view.commit}"
