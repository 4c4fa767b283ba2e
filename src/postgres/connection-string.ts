import { ObservatoryError, parseDatabaseUrl } from '../base/index.ts';

/**
 * Checks a connection string before a driver sees it.
 *
 * @returns its name for messages: scheme, user, host, port and database, never the password or other parameters. As in
 *   `pg`, the parameters `user`, `host` and `port` override those before the path.
 * @throws ObservatoryError `INVALID_OPTION` when it does not parse. The message does not contain it, because the
 *   password cannot be located in it.
 */
export function nameOfConnectionString(connectionString: string): string {
  const url = parseDatabaseUrl(connectionString, ['postgresql:', 'postgres:']);
  if (url === undefined) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      'The database connection string cannot be parsed (not shown here, as it may hold a password). ' +
        'Expected postgresql://user:password@host:5432/database, with special characters in the password ' +
        'percent-encoded, e.g. # as %23 and / as %2F',
    );
  }
  const parameter = (name: string) => url.searchParams.getAll(name).at(-1) || undefined;
  const user = parameter('user') ?? url.username;
  const port = parameter('port') ?? url.port;
  const host = parameter('host') ?? url.hostname;
  return `${url.protocol}//${user === '' ? '' : `${user}@`}${host}${port === '' ? '' : `:${port}`}${url.pathname}`;
}
