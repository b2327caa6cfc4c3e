"""Text analysis: folding, words, stems and stop words, without regular expressions because prompts pay for every import."""
