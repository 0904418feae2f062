"""The settings of the second stage of a search."""

from pydantic import Field

from codequarry.shared.settings.sources import Section

# Each candidate is a run of a transformer, and its score is carried by the cursor of the next page.
MOST_CANDIDATES = 200


class RerankingSettings(Section):
    """The second stage: the best candidates are scored once more, by a model that reads more closely."""

    enabled: bool = False
    model: str = Field(
        default="minilm",
        min_length=1,
        description="embedding model in ONNX form, by name or folder, as `codequarry models` has it",
    )
    candidate_count: int = Field(default=50, ge=1, le=MOST_CANDIDATES)
    final_count: int = Field(default=10, ge=1, le=200, description="top_k of requests that name none")
    weight: float = Field(default=0.5, ge=0, le=1, description="share of the model's score in the score of a hit")
    timeout_seconds: float = Field(default=1.0, gt=0, le=30)
