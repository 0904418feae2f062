"""Splits the bytes of a connection into complete requests, so that no thread waits for a client. No IO."""

from dataclasses import dataclass

from gunicorn.config import Config
from gunicorn.http import errors
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.message import Request
from gunicorn.http.unreader import Unreader

from codequarry.search_api.http.connections.refusals import CUT_SHORT, LARGE_HEAD, Refused, refused

# No known client sends a longer head; gunicorn has its own limits for the first line and each field.
HEAD_BYTES = 65_536
_HEAD_END = b"\r\n\r\n"
_LINE_END = b"\r\n"
# The headers that give the length of a body.
_OF_BODY = ("CONTENT-LENGTH", "TRANSFER-ENCODING")
# Limit for a chunk-size line: a few hexadecimal digits, hardly ever followed by an extension.
SIZE_LINE_BYTES = 1024
# Limit for the fields after the last chunk, which are ignored.
TRAILER_BYTES = 8192


class _Given(Unreader):  # type: ignore[misc]  # gunicorn has no types
    """A source of bytes for gunicorn's parser that ends instead of waiting for more."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buf.write(data)

    def chunk(self, _: int | None = None) -> bytes:
        return b""


class Incoming:
    """The bytes received on a connection that have not yet been returned as a request."""

    def __init__(self, config: Config, peer: object, most_body: int) -> None:
        self._config, self._peer, self._most_body = config, peer, most_body
        self._data = bytearray()
        self._searched = 0
        self._count = 0
        self._request: Request | None = None
        self._body: ChunkedBody | int = 0
        self._begun = 0

    def __len__(self) -> int:
        return len(self._data)

    @property
    def is_between_requests(self) -> bool:
        """Return whether nothing of the next request has arrived."""
        return self._request is None and not self._data

    def add(self, data: bytes) -> None:
        """Add received bytes."""
        self._data += data

    def expects_continue(self) -> bool:
        """Return True once if the client waits for 100 Continue before it sends the body (RFC 9110, 10.1.1)."""
        request = self._request
        if request is None or not request._expected_100_continue:  # gunicorn has no public name for it
            return False
        request._expected_100_continue = False
        return len(self._data) == self._begun

    def take(self) -> Request | None:
        """Return the next request (an oversized body only as its length), or None; raise Refused if it is invalid."""
        if self._request is None and not self._read_head():
            return None
        end = self._end()
        if end is None:
            return None
        request = self._request
        assert request is not None
        # The client has sent the body, whether or not it asked for 100 Continue.
        request._expected_100_continue = False
        request.unreader.unread(bytes(self._data[self._begun : end]))
        del self._data[:end]
        self._request, self._searched = None, 0
        return request

    def _read_head(self) -> bool:
        """Parse the head if it is complete; return whether it is."""
        if self._data.startswith(_LINE_END):
            del self._data[: len(_LINE_END)]  # RFC 9112, 2.2: some clients send an empty line after a body
        at = self._data.find(_HEAD_END, self._searched, HEAD_BYTES)
        if at < 0:
            self._searched = max(0, len(self._data) - len(_HEAD_END) + 1)
            if len(self._data) > HEAD_BYTES or self._has_bare_line_end():
                raise self._why_no_head()
            return False
        self._begun = at + len(_HEAD_END)
        self._request = request = self._parse(bytes(self._data[: self._begun]))
        reader = request.body.reader
        chunked = isinstance(reader, ChunkedReader)
        self._body = ChunkedBody(self._begun) if chunked else reader.length
        return True

    def _why_no_head(self) -> Refused:
        try:
            self._parse(bytes(self._data))
        except Refused as refused:
            if refused.refusal is not CUT_SHORT:
                return refused
        return Refused(LARGE_HEAD)

    def _has_bare_line_end(self) -> bool:
        """Return whether a line ends in a bare line feed, which makes the head invalid."""
        return self._data.count(b"\n") != self._data.count(_LINE_END)

    def _parse(self, head: bytes) -> Request:
        self._count += 1
        try:
            return Request(self._config, _Given(head), self._peer, self._count)
        except (errors.ParseException, errors.NoMoreData, StopIteration) as error:
            raise refused(error) from error

    def _end(self) -> int | None:
        """Return the position after the body, or None while bytes are missing."""
        body, request = self._body, self._request
        assert request is not None
        if isinstance(body, int):
            if body > self._most_body:
                return self._cut_off(body)
            end = self._begun + body
            return end if len(self._data) >= end else None
        try:
            found = body.find_end(self._data)
        except MalformedChunks as error:
            raise refused(error) from error
        if found is None and body.length > self._most_body:
            return self._cut_off(body.length)
        return found

    def _cut_off(self, length: int) -> int:
        """Replace an oversized body with its length, so that the application refuses it, and drop all data after it."""
        request = self._request
        assert request is not None
        request.force_close()
        request.headers = [field for field in request.headers if field[0] not in _OF_BODY]
        request.headers.append(("CONTENT-LENGTH", str(length)))
        request.body = Body(LengthReader(_Given(b""), 0))
        self._data.clear()
        return 0


def decode_body(request: Request) -> None:
    """Let gunicorn decode and check a chunked body before the application reads it; raise Refused if malformed."""
    if not isinstance(request.body.reader, ChunkedReader):
        return
    try:
        body = request.body.read()
    except (errors.ParseException, errors.NoMoreData) as error:
        raise refused(error) from error
    request.body = Body(LengthReader(_Given(body), len(body)))


class MalformedChunks(ValueError):
    """The bytes are not a valid chunked body."""


@dataclass(slots=True)
class ChunkedBody:
    """The parsing state of a chunked body: ``position`` is the next chunk or trailer line, ``length`` omits framing."""

    position: int
    length: int = 0
    passed: int = 0
    trailer_at: int | None = None

    def find_end(self, data: bytearray) -> int | None:
        """Return the position after the body, or None while bytes are missing; may raise MalformedChunks."""
        while self.trailer_at is None:
            if not self._pass_chunk(data):
                return None
        return self._pass_trailer(data, self.trailer_at)

    def _pass_chunk(self, data: bytearray) -> bool:
        """Move past the next chunk; return False while it is incomplete."""
        line_end = _line_end(data, self.position, SIZE_LINE_BYTES)
        if line_end is None:
            return False
        size = _size(bytes(data[self.position : line_end]))
        begin = line_end + len(_LINE_END)
        if size == 0:
            self.position = self.trailer_at = begin
            return True
        end = begin + size
        # Count an incomplete chunk too, because it may be larger than the limit for a body.
        self.length = self.passed + min(size, len(data) - begin)
        if len(data) < end + len(_LINE_END):
            return False
        if data[end : end + len(_LINE_END)] != _LINE_END:
            raise MalformedChunks("a chunk does not have its declared size")
        self.passed += size
        self.position = end + len(_LINE_END)
        return True

    def _pass_trailer(self, data: bytearray, begun: int) -> int | None:
        while (line_end := _line_end(data, self.position, TRAILER_BYTES)) is not None:
            is_last = line_end == self.position
            self.position = line_end + len(_LINE_END)
            if is_last:
                return self.position
            if self.position - begun > TRAILER_BYTES:
                raise MalformedChunks("the trailer after the last chunk is too long")
        return None


def _line_end(data: bytearray, begin: int, most: int) -> int | None:
    end = data.find(_LINE_END, begin, begin + most + len(_LINE_END))
    if end < 0:
        if len(data) - begin > most:
            raise MalformedChunks("a chunk-size line or trailer field is too long")
        return None
    return end


def _size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].rstrip(b" \t")
    # No body is large enough for its size to have more digits.
    if not digits or len(digits) > 15 or any(digit not in b"0123456789abcdefABCDEF" for digit in digits):
        raise MalformedChunks("a chunk size is not a hexadecimal number")
    return int(digits, 16)
