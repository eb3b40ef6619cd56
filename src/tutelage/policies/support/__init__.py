"""What several policies share: quantiles, variances, weighted draws and the cache of a ranking."""
