"""What functions of the user's receive: schemas of records, the forms of data, tables, and pairs as text."""
