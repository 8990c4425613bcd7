"""The food catalogue and TPC-C over HTTP: FastAPI on uvicorn, in front of PostgreSQL or MariaDB."""

VERSION = "0.1.0"
