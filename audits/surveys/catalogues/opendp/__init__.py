"""All measurement constructors of OpenDP, and its expressions of Polars."""

from audits.surveys.catalogues.opendp import frames
from audits.surveys.catalogues.opendp.constructors import catalogue

__all__ = ["catalogue", "frames"]
