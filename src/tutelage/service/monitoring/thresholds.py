"""From when on something is a state of a campaign."""

from pydantic import BaseModel, ConfigDict, Field


class Thresholds(BaseModel):
    """Times in seconds, gaps as multiples of a client's usual one.  Each is a setting of the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    slow_intervals: float = Field(default=5.0, gt=0)
    slow_seconds: float = Field(default=10.0, ge=0)
    slow_forecast: float = Field(default=3.0, ge=1)  # times the median of the clients' forecasts
    stalled_intervals: float = Field(default=20.0, gt=0)
    stalled_seconds: float = Field(default=60.0, ge=0)
    avoided_pulls: int = Field(default=20, ge=1)  # of a client without the arm, for each arm that is awaited
    lag_seconds: float = Field(default=0.25, gt=0)
    lag_red_seconds: float = Field(default=10.0, gt=0)
    waiting_pulls: int = Field(default=5_000, ge=1)
    idle_seconds: float = Field(default=120.0, gt=0)
    replay_share: float = Field(default=0.05, ge=0, le=1)
    replay_least: int = Field(default=20, ge=1)
    cut_off_seconds: float = Field(default=5.0, ge=2)
