"""Users and tokens. Tokens are stored as digests; requests are checked in memory."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, Table, insert, select, update
from sqlalchemy.exc import DBAPIError

from motet.domain.errors import BadInput, MotetError, NotFound
from motet.live.accounts.account_tables import ACCOUNT_TABLES, TOKENS, USERS
from motet.live.accounts.roles import OWNER_TOKEN, Caller, RoleBound, UserRole
from motet.live.jobs.job_sections import NAME_PATTERN
from motet.live.journal.database import JournalDatabase

PREFIX = "motet_"
LONGEST_LABEL = 200
_ID_BYTES, _TOKEN_BYTES = 4, 32
_DAY_US = 24 * 3600 * 1_000_000


@dataclass(frozen=True, slots=True)
class Account:
    """A user. `revoked_us`: since when no token of the user is accepted; None: they are."""

    name: str
    role: UserRole
    created_us: int
    created_by: str
    revoked_us: int | None = None


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A token as it is stored. `role`: the most that it allows. `digest`: its SHA-256: a token has
    256 random bits, which cannot be guessed from it."""

    id: str
    user: str
    role: UserRole
    digest: str
    label: str
    created_us: int
    created_by: str
    expires_us: int | None = None
    revoked_us: int | None = None


class AccountStore:
    """Used by all threads of a server; nothing else writes these tables."""

    def __init__(self, owner: str, owner_token: str, most: UserRole = UserRole.ADMIN) -> None:
        """`owner`: who runs the server; has the role admin, and the token of the state folder.
        `most`: the highest role of all others while this server runs."""
        self.owner, self._most = owner, most
        self._lock = threading.Lock()
        self._users: dict[str, Account] = {}
        self._tokens: dict[str, AccessToken] = {}
        self._ids: dict[str, str] = {}
        self._engine: Engine | None = None
        self._keep(
            AccessToken(OWNER_TOKEN, owner, UserRole.ADMIN, digest_of(owner_token), "", 0, "")
        )

    def open(self, address: str) -> None:
        """Read the tables. `address`: of the journal, which this server has opened."""
        self._engine = JournalDatabase(address).engine()
        with self._writing() as connection:
            ACCOUNT_TABLES.create_all(connection)
            users = connection.execute(select(USERS)).mappings().all()
            tokens = connection.execute(select(TOKENS)).mappings().all()
        with self._lock:
            for row in users:
                account = Account(**{**row, "role": UserRole(row["role"])})
                self._users[account.name] = account
            for row in tokens:
                self._keep(AccessToken(**{**row, "role": UserRole(row["role"])}))

    def close(self) -> None:
        """Close the database."""
        if self._engine is not None:
            self._engine.dispose()

    # -- who is it ---------------------------------------------------------------------------------

    def caller_of(self, token: str) -> Caller | None:
        """The user of this token; None: it is unknown, has expired or was revoked."""
        number = self._ids.get(digest_of(token.strip()))
        return None if number is None else self.caller_with(number)

    def caller_with(self, token_id: str) -> Caller | None:
        """Who has the token of this id, as above."""
        token = self._tokens.get(token_id)
        if token is None or not _is_valid(token):
            return None
        if token.id == OWNER_TOKEN:
            return Caller(self.owner, UserRole.ADMIN, token.id)
        account = self._users.get(token.user)
        if account is None or account.revoked_us is not None:
            return None
        bounds = {
            RoleBound.USER: account.role,
            RoleBound.SERVER: self._most,
            RoleBound.TOKEN: token.role,
        }
        bound = min(bounds, key=lambda each: bounds[each].rank)
        return Caller(token.user, bounds[bound], token.id, bound)

    def digest_with(self, token_id: str) -> str:
        """The digest of the token of this id; empty: there is none."""
        token = self._tokens.get(token_id)
        return "" if token is None else token.digest

    # -- users -------------------------------------------------------------------------------------

    def users(self) -> list[Account]:
        """All, the revoked ones too, by name; the owner is the first."""
        with self._lock:
            found = sorted(self._users.values(), key=lambda each: each.name)
        return [Account(self.owner, UserRole.ADMIN, 0, ""), *found]

    def create_user(self, name: str, role: UserRole, by: str) -> Account:
        """A new user, or one that was revoked. Raises BadInput."""
        if not re.fullmatch(NAME_PATTERN, name):
            raise BadInput(
                f"user {name[:80]!r}: give 1 to 63 letters, digits, '.', '_' or '-', a letter or "
                "digit first and last"
            )
        if not self._most.includes(role):
            raise BadInput(
                f"role {role}: other machines reach this server, and jobs run as {self.owner}; "
                "start it with --trusted-users if all who may submit jobs may act as this user"
            )
        with self._lock:
            known = self._users.get(name)
            if name == self.owner or (known is not None and known.revoked_us is None):
                raise BadInput(f"there is a user {name} already")
            account = Account(name, role, _now_us(), by)
            self._save(USERS, asdict(account), "name", is_new=known is None)
            self._users[name] = account
        return account

    def revoke_user(self, name: str) -> Account:
        """No token of the user is accepted any longer. Raises NotFound, BadInput."""
        with self._lock:
            if name == self.owner:
                raise BadInput(f"{name} runs the server; stop it, and replace its token file")
            known = self._users.get(name)
            if known is None or known.revoked_us is not None:
                raise NotFound(f"there is no user {name[:80]}")
            account = replace(known, revoked_us=_now_us())
            theirs = [each for each in self._tokens.values() if each.user == name]
            gone = [replace(each, revoked_us=account.revoked_us) for each in theirs]
            with self._writing() as connection:
                _replace_row(connection, USERS, asdict(account), "name")
                for each in gone:
                    _replace_row(connection, TOKENS, asdict(each), "id")
            self._users[name] = account
            for each in gone:
                self._keep(each)
        return account

    # -- tokens ------------------------------------------------------------------------------------

    def tokens(self, user: str | None = None) -> list[AccessToken]:
        """Of a user, or of all; the owner's is not listed."""
        with self._lock:
            found = [each for each in self._tokens.values() if each.id != OWNER_TOKEN]
        chosen = [each for each in found if user is None or each.user == user]
        return sorted(chosen, key=lambda each: each.created_us)

    def create_token(
        self, user: str, role: UserRole | None, label: str, days: int | None, by: str
    ) -> tuple[AccessToken, str]:
        """A token and its text, which is not stored. `role`: None is the user's.

        Raises NotFound.
        """
        with self._lock:
            account = self._users.get(user)
            if account is None or account.revoked_us is not None:
                raise NotFound(f"there is no user {user[:80]}; create it: motet user create")
            text, now_us = PREFIX + secrets.token_urlsafe(_TOKEN_BYTES), _now_us()
            token = AccessToken(
                secrets.token_hex(_ID_BYTES),
                user,
                (role or account.role).at_most(account.role),
                digest_of(text),
                label[:LONGEST_LABEL],
                now_us,
                by,
                None if days is None else now_us + days * _DAY_US,
            )
            self._save(TOKENS, asdict(token), "id", is_new=True)
            self._keep(token)
        return token, text

    def revoke_token(self, token_id: str, caller: Caller) -> AccessToken:
        """The token is not accepted any longer. Raises NotFound, also for tokens of others."""
        with self._lock:
            known = self._tokens.get(token_id)
            is_own = known is not None and known.user == caller.user
            if known is None or not (is_own or caller.role is UserRole.ADMIN):
                raise NotFound(f"there is no token {token_id[:80]}")
            if token_id == OWNER_TOKEN:
                raise BadInput("this is the server's token; delete its file, and start the server")
            token = replace(known, revoked_us=known.revoked_us or _now_us())
            self._save(TOKENS, asdict(token), "id", is_new=False)
            self._keep(token)
        return token

    # -- rows --------------------------------------------------------------------------------------

    def _keep(self, token: AccessToken) -> None:
        self._tokens[token.id] = token
        self._ids[token.digest] = token.id

    def _save(self, table: Table, row: Mapping[str, Any], key: str, *, is_new: bool) -> None:
        with self._writing() as connection:
            if is_new:
                connection.execute(insert(table).values(dict(row)))
            else:
                _replace_row(connection, table, row, key)

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        assert self._engine is not None
        try:
            with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            reason = " ".join(str(error.orig).split())[:200]
            raise MotetError(f"users and tokens cannot be stored ({reason})") from error


def digest_of(token: str) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def _replace_row(connection: Connection, table: Table, row: Mapping[str, Any], key: str) -> None:
    connection.execute(update(table).where(table.c[key] == row[key]).values(dict(row)))


def _is_valid(token: AccessToken) -> bool:
    has_time = token.expires_us is None or _now_us() < token.expires_us
    return token.revoked_us is None and has_time


def _now_us() -> int:
    return time.time_ns() // 1000
