"""The mechanisms that the auditing literature audits: right ones, and ones that slipped."""
