"""What every table of the settings has in common."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A table of the settings file; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
