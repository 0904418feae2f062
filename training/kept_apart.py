"""Packages that the model never learns from, because it is measured on them (near_copies.py finds their copies)."""

import re

from training.packages import Package

# Used to measure the product from outside and never for tuning. Patterns of whole names, case ignored.
CLOSED = (
    r"alamofire", r"bash-it", r"dapper", r".*[:/]jackson-databind", r"jackson-databind", r"zig-clap",
    r"newtonsoft\.?json", r"org\.jetbrains\.exposed:.*", r"org\.jetbrains\.kotlinx:kotlinx-coroutines-.*",
    r"model2vec", r"(php-)?monolog.*", r"snapkit", r"abseil.*", r"aiohttp", r".*:commons-lang3?", r"axios",
    r"bats.*", r"io\.circe:.*", r"zod", r"mini\.nvim", r"ecto", r"elixir-plug", r"plug", r"(py)?curl.*", r"httpx",
    r"starlette", r"express", r"fastapi", r"(lib)?fmt(lib)?.*", r"lazy\.nvim", r"github\.com/gin-gonic/gin.*",
    r"com\.google\.code\.gson:.*", r"gson", r"github\.com/go-chi/chi.*", r"(php-)?guzzle.*", r"php-guzzlehttp.*",
    r"(lib)?aeson", r"org\.http4s:.*", r"pandoc.*", r"io\.ktor:.*", r"(php-)?laravel.*", r"php-illuminate.*",
    r"(lib)?uv(-sys|loop).*", r"libuv.*", r"messagepack-csharp", r"nlohmann.*", r"telescope\.nvim", r"nvm",
    r"click", r"flask", r"phoenix", r"requests", r"pydantic(-core)?", r"ruby-rack", r"rack", r"(ruby-)?rails.*",
    r"ruby-active.*", r"ruby-action.*", r"redis-server", r"@rails/.*", r"redux", r"@reduxjs/.*", r"serde",
    r"serde_(derive|core)", r"(ruby-)?sinatra.*", r"github\.com/spf13/cobra", r"axum.*", r"tokio(-.*)?",
    r"@trpc/.*", r"(@vitest/.*|vitest)", r"org\.typelevel:cats-(core|kernel|free|laws|testkit).*", r"vapor",
)  # fmt: skip

# Used by the questions in bench/questions and bench/tuning.
QUESTIONED = (
    r"polly.*", r"swift-argument-parser", r"ripgrep", r"grep(-.*)?", r"ignore", r"globset", r"(php-)?composer",
    r"go\.etcd\.io/bbolt.*", r"leveldb.*", r"leveldown", r"org\.jsoup:.*", r"jq", r"koa(-.*)?", r"werkzeug", r"jinja2",
    r"com\.github\.scopt:.*", r"(ruby-)?sidekiq", r"com\.squareup\.okhttp3?:.*", r"com\.squareup\.okio:.*", r"typeorm",
    r"commons-io:.*", r"celery", r"humanizer.*", r"zustand", r"(php-)?(league-)?flysystem.*",
)  # fmt: skip

_PATTERN = re.compile("|".join(f"(?:{name})" for name in (*CLOSED, *QUESTIONED)), re.IGNORECASE)


def is_kept_apart(package: Package) -> bool:
    """Return whether a package belongs to a code base that is measured on."""
    return _PATTERN.fullmatch(package.name) is not None
