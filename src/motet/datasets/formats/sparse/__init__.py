"""Readers of sparse text formats: svmlight, lda-c, and bags of words."""
