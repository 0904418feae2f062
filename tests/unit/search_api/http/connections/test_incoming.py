"""Requests are returned when all their bytes have arrived, and refused if they are invalid."""

from http import HTTPStatus

import pytest
from gunicorn.config import Config

from codequarry.search_api.http.connections.incoming import HEAD_BYTES, Incoming, decode_body
from codequarry.search_api.http.connections.refusals import Refused

MOST = 1000
HOST = b"Host: localhost\r\n"
CHUNKED = b"POST /search-code HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


def posted(body, length=None):
    """Return the bytes of a request with a body."""
    size = len(body) if length is None else length
    return b"POST /search-code HTTP/1.1\r\n" + HOST + f"Content-Length: {size}\r\n\r\n".encode() + body


@pytest.fixture
def incoming():
    """Return a reader of one connection."""
    return Incoming(Config(), ("127.0.0.1", 1), MOST)


def body_of(request):
    """Return the body as the application reads it."""
    decode_body(request)
    return request.body.read()


GOOD = {
    "no body": (b"GET /repos HTTP/1.1\r\n" + HOST + b"\r\n", b""),
    "no field": (b"GET /repos HTTP/1.0\r\n\r\n", b""),
    "length": (posted(b"hello"), b"hello"),
    "chunks": (CHUNKED + b"5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n", b"hello world"),
    "trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nExpires: never\r\n\r\n", b"hello"),
    "chunks of all": (CHUNKED + b"3e8\r\n" + b"a" * MOST + b"\r\n0\r\n\r\n", b"a" * MOST),
}


@pytest.mark.parametrize("kind", GOOD)
def test_a_request_is_returned_only_after_its_last_byte(incoming, kind):
    data, body = GOOD[kind]
    for at in range(len(data) - 1):
        incoming.add(data[at : at + 1])
        assert incoming.take() is None
    incoming.add(data[-1:])
    assert body_of(incoming.take()) == body
    assert incoming.is_between_requests


def test_pipelined_requests_are_returned_one_by_one(incoming):
    incoming.add(b"".join(data for data, _ in GOOD.values()))
    assert [body_of(incoming.take()) for _ in GOOD] == [body for _, body in GOOD.values()]
    assert incoming.take() is None
    assert incoming.is_between_requests


BAD = {
    "no request line": (b"hello\r\n\r\n", 400),
    "bare line ends": (b"GET / HTTP/1.1\nHost: localhost\n\n", 400),
    "bad method": (b"G@T / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "bad field": (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
    "bad length": (posted(b"", "many"), 400),
    "negative length": (posted(b"", -1), 400),
    "two lengths": (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
    "length and chunks": (b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "unknown coding": (b"POST / HTTP/1.1\r\nTransfer-Encoding: magic\r\n\r\n", 501),
    "long line": (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n\r\n", 414),
    "long line without end": (b"GET /" + b"a" * HEAD_BYTES, 414),
    "long field": (b"GET / HTTP/1.1\r\nA: " + b"a" * 9000 + b"\r\n\r\n", 431),
    "many fields": (b"GET / HTTP/1.1\r\n" + b"A: a\r\n" * 101 + b"\r\n", 431),
    "long head without end": (b"GET / HTTP/1.1\r\n" + b"A: a\r\n" * 20_000, 431),
    "chunk without a size": (CHUNKED + b"hello\r\n", 400),
    "negative chunk": (CHUNKED + b"-5\r\nhello\r\n", 400),
    "chunk of 10 to the 20": (CHUNKED + b"f" * 17 + b"\r\n", 400),
    "chunk longer than it says": (CHUNKED + b"5\r\nhello world\r\n0\r\n\r\n", 400),
    "size line without end": (CHUNKED + b"5;" + b"a" * 5000, 400),
    "endless trailer": (CHUNKED + b"0\r\n" + b"A: a\r\n" * 3000, 400),
    "bad extension": (CHUNKED + b"5;=\r\nhello\r\n0\r\n\r\n", 400),
    "bad trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nno colon\r\n\r\n", 400),
}


@pytest.mark.parametrize("kind", BAD)
def test_an_invalid_request_is_refused_with_its_status(incoming, kind):
    data, status = BAD[kind]
    incoming.add(data)
    with pytest.raises(Refused) as refused:
        decode_body(incoming.take())
    assert refused.value.refusal.status == status
    assert b"problem+json" in refused.value.refusal.answer("1")


LARGE = {
    "length": posted(b"", 1_000_000),
    "chunks": CHUNKED + b"3e8\r\n" + b"a" * MOST + b"\r\n1\r\na",
    "one chunk": CHUNKED + b"fffff\r\n" + b"a" * (MOST + 1),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_body_that_is_too_large_is_not_read(incoming, kind):
    """The application must see that it is too large, and nothing more may be read from the connection."""
    incoming.add(LARGE[kind])
    request = incoming.take()
    assert request.should_close()
    assert len(incoming) == 0
    lengths = [int(value) for name, value in request.headers if name in ("CONTENT-LENGTH", "TRANSFER-ENCODING")]
    assert len(lengths) == 1
    assert lengths[0] > MOST
    assert body_of(request) == b""


def test_continue_is_sent_once_and_only_before_the_body(incoming):
    head = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
    incoming.add(head)
    assert incoming.take() is None
    assert [incoming.expects_continue(), incoming.expects_continue()] == [True, False]
    incoming.add(b"hello" + head + b"he")
    assert body_of(incoming.take()) == b"hello"
    assert incoming.take() is None
    assert not incoming.expects_continue()


def test_a_refusal_is_a_complete_response():
    from codequarry.search_api.http.connections.refusals import NO_ROOM

    head, body = NO_ROOM.answer("my-id").split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    assert b"Retry-After: 5\r\n" in head
    assert f"Content-Length: {len(body)}".encode() in head
    assert NO_ROOM.status is HTTPStatus.SERVICE_UNAVAILABLE
