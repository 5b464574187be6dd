"""AutoPS: one elastic pool of Aggregators that applies the gradients of many training jobs."""
