"""What is told of a campaign to people and alarms: figures, states, metrics."""
