"""Settings for the second stage of a search."""

from pydantic import Field

from codequarry.shared.settings.sources import Section

# Each candidate costs one run of a transformer, and the next page's cursor carries its score.
MOST_CANDIDATES = 200


class RerankingSettings(Section):
    """The second stage: a larger model scores the best candidates again."""

    enabled: bool = False
    model: str = Field(default="minilm", min_length=1, description="ONNX embedding model: a known name or a folder")
    candidate_count: int = Field(default=50, ge=1, le=MOST_CANDIDATES)
    final_count: int = Field(default=10, ge=1, le=200, description="default top_k of searches with a second stage")
    weight: float = Field(default=0.5, ge=0, le=1, description="share of the second stage in a hit's score")
    timeout_seconds: float = Field(default=1.0, gt=0, le=30)
