"""Tables of users, tokens and audited requests, in the database of the journal."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table

ACCOUNT_TABLES = MetaData()
USERS = Table(
    "users",
    ACCOUNT_TABLES,
    Column("name", String(63), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("created_by", String(63), nullable=False),
    Column("revoked_us", BigInteger),
)
TOKENS = Table(
    "tokens",
    ACCOUNT_TABLES,
    Column("id", String(16), primary_key=True),
    Column("user", String(63), nullable=False),
    Column("role", String(16), nullable=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("label", String(200), nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("created_by", String(63), nullable=False),
    Column("expires_us", BigInteger),
    Column("revoked_us", BigInteger),
)
AUDIT = Table(
    "audit",
    ACCOUNT_TABLES,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("at_us", BigInteger, nullable=False, index=True),
    Column("user", String(63), nullable=False),
    Column("role", String(16), nullable=False),
    Column("token", String(16), nullable=False),
    Column("source", String(64), nullable=False),
    Column("action", String(300), nullable=False),
    Column("target", String(200), nullable=False),
    Column("status", Integer, nullable=False),
)
