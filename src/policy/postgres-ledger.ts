import { LEDGER, ReviewDatabase } from '../approvals/index.ts';
import { type JsonObject, readObject } from '../json/index.ts';
import type { PostgresConnection } from '../postgres/index.ts';
import type {
  CallLedger,
  EarlierEffect,
  LedgerAnswer,
  LedgerOutcome,
  LedgerRequest,
  LedgerWitness,
} from './ledger/index.ts';

/**
 * The ledger for any number of processes and hosts, on the tables `mcp_ledger_calls` and `mcp_ledger_accounts` of a server
 * or of a running `up`. Times are the database's.
 *
 * Errors of all methods: ObservatoryError `DATABASE_UNREACHABLE`, `DATABASE_SCHEMA_MISSING` or `DATABASE_REFUSED`.
 */
export class PostgresLedger implements CallLedger {
  readonly #db: ReviewDatabase;

  /** @param connection a connection string, the address of an `up`, or what the ledger does not close. */
  constructor(connection: PostgresConnection) {
    this.#db = new ReviewDatabase(connection, 'mcp_ledger_calls');
  }

  async find(key: string): Promise<EarlierEffect | undefined> {
    return toEarlier(await this.#ask('find', { key }));
  }

  async reserve(request: LedgerRequest): Promise<LedgerAnswer> {
    return (await this.#ask('reserve', { ...request })) as LedgerAnswer;
  }

  async settle(id: string, token: string, outcome: LedgerOutcome): Promise<boolean> {
    return readObject(await this.#ask('settle', { id, token, outcome })).settled === true;
  }

  async resolve(
    id: string,
    outcome: 'done' | 'failed',
    witness: LedgerWitness,
  ): Promise<EarlierEffect | undefined> {
    return toEarlier(await this.#ask('resolve', { id, outcome, ...witness }));
  }

  /** Closes the connections this ledger opened. Idempotent. */
  close(): Promise<void> {
    return this.#db.close();
  }

  async #ask(what: keyof typeof LEDGER, request: JsonObject): Promise<unknown> {
    // What no text of Postgres can hold is no other name for it.
    const text = JSON.stringify(request).replaceAll('\\u0000', '\\ufffd');
    const [row] = await this.#db.query(LEDGER[what], [text]);
    return typeof row?.answer === 'string' ? JSON.parse(row.answer) : undefined;
  }
}

function toEarlier(answer: unknown): EarlierEffect | undefined {
  return answer === undefined || answer === null ? undefined : (answer as EarlierEffect);
}
