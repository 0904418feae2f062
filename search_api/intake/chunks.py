"""Where a body in chunks ends (RFC 9112, section 7.1), found while its bytes come. Pure.

This only finds the end. Gunicorn's own reader decodes the body once all of it is there, and is the stricter of the two.
"""

from dataclasses import dataclass

# The size of a chunk has a few hexadecimal digits; clients hardly ever send an extension behind it.
SIZE_LINE_BYTES = 1024
# Fields behind the last chunk, which nothing here reads.
TRAILER_BYTES = 8192
_LINE_END = b"\r\n"


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
