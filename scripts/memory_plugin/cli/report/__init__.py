"""The report: figures from the ledgers, collected in bounded memory, and their three forms: a page, a text, JSON."""
