"""The bytes that come over a connection, and the requests in them. No IO.

A request is given out when all of it is there, so that whoever answers it never waits for its client.
"""

from dataclasses import dataclass

from gunicorn.config import Config
from gunicorn.http import errors
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.message import Request
from gunicorn.http.unreader import Unreader

from codequarry.search_api.http.connections.refusals import CUT_SHORT, LARGE_HEAD, Refused, refused

# No client that we know of sends a longer head; gunicorn refuses a longer first line or field by limits of its own.
HEAD_BYTES = 65_536
_HEAD_END = b"\r\n\r\n"
_EMPTY_LINE = b"\r\n"
# What says how long a body is.
_OF_BODY = ("CONTENT-LENGTH", "TRANSFER-ENCODING")
# The size of a chunk has a few hexadecimal digits; clients hardly ever send an extension behind it.
SIZE_LINE_BYTES = 1024
# Fields behind the last chunk, which nothing here reads.
TRAILER_BYTES = 8192
_LINE_END = b"\r\n"


class _Given(Unreader):  # type: ignore[misc]  # gunicorn has no types
    """A source of bytes for gunicorn's parser that ends where they do, instead of waiting for more."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.buf.write(data)

    def chunk(self, _: int | None = None) -> bytes:
        return b""


class Incoming:
    """What has come over one connection and was not given out yet."""

    def __init__(self, config: Config, peer: object, most_body: int) -> None:
        """Read requests from ``peer`` whose bodies have at most ``most_body`` bytes."""
        self._config, self._peer, self._most_body = config, peer, most_body
        self._data = bytearray()
        self._searched = 0
        self._count = 0
        self._request: Request | None = None
        self._body: ChunkedBody | int = 0
        self._begun = 0

    def __len__(self) -> int:
        """Return how many bytes are kept."""
        return len(self._data)

    @property
    def is_between_requests(self) -> bool:
        """Tell whether nothing of a next request has come."""
        return self._request is None and not self._data

    def add(self, data: bytes) -> None:
        """Take what has come."""
        self._data += data

    def expects_continue(self) -> bool:
        """Tell once whether the client waits to be told that it shall send the body (RFC 9110, section 10.1.1)."""
        request = self._request
        if request is None or not request._expected_100_continue:  # gunicorn has no other name for it
            return False
        request._expected_100_continue = False
        return len(self._data) == self._begun

    def take(self) -> Request | None:
        """Return the next request with its body if all of it is there; Refused for what is no request.

        Of a body that is too large only the length is given: the application is to know the caller, and to refuse it.
        """
        if self._request is None and not self._read_head():
            return None
        end = self._end()
        if end is None:
            return None
        request = self._request
        assert request is not None
        # Whether the client wanted to be told or not: it has sent the body by itself.
        request._expected_100_continue = False
        request.unreader.unread(bytes(self._data[self._begun : end]))
        del self._data[:end]
        self._request, self._searched = None, 0
        return request

    def _read_head(self) -> bool:
        """Parse the head once it is there; False while it is not."""
        if self._data.startswith(_EMPTY_LINE):
            del self._data[: len(_EMPTY_LINE)]  # RFC 9112, section 2.2: some clients send one behind a body
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
        """Tell whether the end of a head can't come any more: a line ended in another way than lines do."""
        return self._data.count(b"\n") != self._data.count(_EMPTY_LINE)

    def _parse(self, head: bytes) -> Request:
        self._count += 1
        try:
            return Request(self._config, _Given(head), self._peer, self._count)
        except (errors.ParseException, errors.NoMoreData, StopIteration) as error:
            raise refused(error) from error

    def _end(self) -> int | None:
        """Return the position behind the body, None while bytes of it are missing."""
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
        """Give a request with a body that is too large out without it; nothing behind it can be read."""
        request = self._request
        assert request is not None
        request.force_close()
        request.headers = [field for field in request.headers if field[0] not in _OF_BODY]
        request.headers.append(("CONTENT-LENGTH", str(length)))
        request.body = Body(LengthReader(_Given(b""), 0))
        self._data.clear()
        return 0


def decode_body(request: Request) -> None:
    """Have a body in chunks read by gunicorn, which checks it, before the application does; Refused if it is wrong."""
    if not isinstance(request.body.reader, ChunkedReader):
        return
    try:
        body = request.body.read()
    except (errors.ParseException, errors.NoMoreData) as error:
        raise refused(error) from error
    request.body = Body(LengthReader(_Given(body), len(body)))


class MalformedChunks(ValueError):
    """The bytes are no body in chunks."""


@dataclass(slots=True)
class ChunkedBody:
    """How far a body in chunks was followed: ``position`` is where the next chunk, or line of a trailer, begins.

    ``length`` is how many bytes of the body have come, without what frames them.
    """

    position: int
    length: int = 0
    passed: int = 0
    trailer_at: int | None = None

    def find_end(self, data: bytearray) -> int | None:
        """Return the position behind the body, None while bytes are missing; MalformedChunks where it is none."""
        while self.trailer_at is None:
            if not self._pass_chunk(data):
                return None
        return self._pass_trailer(data, self.trailer_at)

    def _pass_chunk(self, data: bytearray) -> bool:
        """Go behind the next chunk; False while some of it is missing."""
        line_end = _line_end(data, self.position, SIZE_LINE_BYTES)
        if line_end is None:
            return False
        size = _size(bytes(data[self.position : line_end]))
        begin = line_end + len(_LINE_END)
        if size == 0:
            self.position = self.trailer_at = begin
            return True
        end = begin + size
        # What has come of a chunk counts already: it may be larger than any body may be.
        self.length = self.passed + min(size, len(data) - begin)
        if len(data) < end + len(_LINE_END):
            return False
        if data[end : end + len(_LINE_END)] != _LINE_END:
            raise MalformedChunks("a chunk is not as long as it says")
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
                raise MalformedChunks("the fields behind the last chunk are too long")
        return None


def _line_end(data: bytearray, begin: int, most: int) -> int | None:
    end = data.find(_LINE_END, begin, begin + most + len(_LINE_END))
    if end < 0:
        if len(data) - begin > most:
            raise MalformedChunks("a line between chunks is too long")
        return None
    return end


def _size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].rstrip(b" \t")
    # More digits than these are a size that no body has.
    if not digits or len(digits) > 15 or any(digit not in b"0123456789abcdefABCDEF" for digit in digits):
        raise MalformedChunks("the size of a chunk is no hexadecimal number")
    return int(digits, 16)
