"""A stand-in for a paid embeddings API that the benchmarks can interrupt. Its vectors come from the words of a text.

Texts with the same words are near each other, so searches find something.

    python -m bench.acceptance.embedding_server --port 8900
"""

import argparse
import base64
import json
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from codequarry.shared.identifiers import tokenize

DIMENSION = 128


def vector_of(text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return the normalised sum of a text's words, each hashed to a dimension and a sign; float32, (128,)."""
    vector = np.zeros(DIMENSION, np.float32)
    for word in tokenize(text):
        number = zlib.crc32(word.encode())
        vector[number % DIMENSION] += 1.0 if number & 0x1000 else -1.0
    length = float(np.linalg.norm(vector))
    return vector / length if length else np.full(DIMENSION, DIMENSION**-0.5, np.float32)


class Handler(BaseHTTPRequestHandler):
    """Answers ``POST /v1/embeddings``."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Embed texts."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        data = [
            {"object": "embedding", "index": index, "embedding": base64.b64encode(vector_of(text).tobytes()).decode()}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": sum(map(len, texts)) // 4, "total_tokens": sum(map(len, texts)) // 4}
        body = json.dumps({"object": "list", "data": data, "model": asked["model"], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8900, help="TCP port (8900)")
    ThreadingHTTPServer(("127.0.0.1", parser.parse_args().port), Handler).serve_forever()


if __name__ == "__main__":
    main()
