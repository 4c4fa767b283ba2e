import { ObservatoryError, parseDatabaseUrl } from '../base/index.ts';

/**
 * Checks a connection string before a driver sees it.
 *
 * @returns its name for messages: scheme, user, host, port and database, never the password or the parameters.
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
  const user = url.username === '' ? '' : `${url.username}@`;
  return `${url.protocol}//${user}${url.host}${url.pathname}`;
}
