"""The report: figures read from the ledgers in bounded memory, shown as an HTML page, as text or as JSON."""
