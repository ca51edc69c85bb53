"""What results share: the document that each is, shown as text, JSON, page and chart."""
