"""Generated from `schemas/records` by `make codegen`; do not edit."""
