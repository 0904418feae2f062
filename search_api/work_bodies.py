"""What the bodies look like by which the service is asked for work, and told of changes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from codequarry.search_api.bodies import JobBody, Open
from codequarry.search_api.request import MAX_VALUE_CHARACTERS

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
    total: int = Field(description="how many there are, beyond the limit too")


WORK_MODELS: tuple[type[BaseModel], ...] = (RepositoryToAdd, JobsBody)
