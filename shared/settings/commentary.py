"""Settings for commentary: what a language model says about each chunk."""

from typing import Self

from pydantic import Field, SecretStr, model_validator

from codequarry.shared.settings.sources import Section

# Part of the rules of every file with commentary. Increase it when the prompt changes.
PROMPT_VERSION = 1


class CommentarySettings(Section):
    """A language model describes each chunk in one to three sentences, which are embedded and searched with it."""

    enabled: bool = False
    model: str = Field(default="", description="name of the model on the server")
    base_url: str | None = Field(default=None, description="OpenAI-compatible server; the OpenAI API if unset")
    api_key: SecretStr | None = None
    prompt_version: int = Field(default=1, ge=1, description="increase it to have every chunk described again")
    concurrency: int = Field(default=4, ge=1, le=64)
    timeout_seconds: float = Field(default=60, gt=0)
    max_retries: int = Field(default=6, ge=0, le=20)
    max_tokens_per_run: int | None = Field(
        default=None, ge=1, description="tokens that one run may send and receive; later runs describe the rest"
    )
    input_price_per_million_tokens: float | None = Field(default=None, ge=0, description="price for --dry-run")
    output_price_per_million_tokens: float | None = Field(default=None, ge=0, description="price for --dry-run")

    @model_validator(mode="after")
    def _can_be_asked(self) -> Self:
        if self.enabled and not self.model:
            raise ValueError("commentary needs model, the name of a model on the server")
        if self.enabled and not self.base_url and not self.api_key:
            raise ValueError("commentary needs api_key, or base_url of a server that needs no key")
        return self

    @property
    def rules(self) -> tuple[str | int, ...]:
        """What decides the commentary besides the chunk itself; empty if there is none."""
        return ("commentary", self.model, self.prompt_version, PROMPT_VERSION) if self.enabled else ()
