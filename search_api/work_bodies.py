"""What the bodies look like by which the service is asked for work, and told of changes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from codequarry.search_api.bodies import JobBody, Open
from codequarry.search_api.request import MAX_VALUE_CHARACTERS
from codequarry.shared.triggers.deliveries import Provider, Result

Line = Annotated[str, Field(min_length=1, max_length=MAX_VALUE_CHARACTERS, pattern=r"\S")]


class RepositoryToAdd(BaseModel):
    """What `POST /repos` asks."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"origin": "https://git.example/owner/core.git"},
                {"origin": "git@git.example:owner/core", "name": "core", "ref": "release/2"},
            ]
        },
    )

    origin: Line = Field(description="https, ssh or git URL; a path only below api.local_roots")
    name: Line | None = Field(None, description="its name in the index; the origin's if not given")
    ref: Line | None = Field(None, description="a branch, a tag, pull/12 or a commit; the default branch if not given")


class JobsBody(Open):
    """What `GET /jobs` answers."""

    jobs: list[JobBody]
    total: int = Field(description="how many there are, on other pages too")
    next_cursor: str | None = Field(description="the next page, as `?cursor=`; null on the last one")


class GenericDelivery(BaseModel):
    """What `POST /webhooks/generic` takes; signed as docs/webhooks.md says."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"repo": "core", "ref": "main", "commit": "1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c"}]
        },
    )

    repo: Line | None = Field(None, description="its name in the index; or originUri")
    originUri: Line | None = Field(None, description="where it comes from; scheme, user, case and .git don't count")
    ref: Line | None = Field(None, description="a branch, a tag or pull/12; the default branch if not given")
    commit: str | None = Field(
        None,
        pattern=r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$",
        description="its newest commit in full, if known; zeros: deleted",
    )


class DeliveryBody(Open):
    """One delivery and what became of it."""

    provider: Provider
    delivery_id: str
    event: str
    result: Result = Field(description="received is one that could not be dealt with; the same one may come again")
    reason: str | None
    repo: str | None
    ref: str | None
    commit: str | None
    job_id: str | None
    repeats: int = Field(description="how often the same one came again; it began nothing")
    received_at: str


class ReceivedBody(DeliveryBody):
    """What a webhook answers."""

    repeated: bool = Field(description="it was dealt with before, and nothing was done now")


class DeliveriesBody(Open):
    """What `GET /deliveries` answers."""

    deliveries: list[DeliveryBody]


WORK_MODELS: tuple[type[BaseModel], ...] = (
    RepositoryToAdd, JobsBody, GenericDelivery, ReceivedBody, DeliveriesBody,
)  # fmt: skip
