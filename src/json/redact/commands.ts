/** Passwords that commands take without a telling name: `mysql -p...`, `curl -u user:password`, `IDENTIFIED BY '...'`. */
import type { Finder } from './find.ts';
import { isPlaceholder } from './opaque.ts';

/** Up to the end of the command, options and arguments between blanks. */
const REST = '[^\\n|;&]{0,120}?[\\s"\',]';
const VALUE = `["']?([^\\s"'$<{][^\\s"',;]{2,200})`;

/** What follows the command up to the password, by what the text has there. */
const COMMANDS: readonly (readonly [starts: string, form: string])[] = [
  [
    'curl|http|wget',
    `(?:curl|https?|wget)\\b${REST}(?:-u|-U|-a|--user|--proxy-user|--auth)(?:[ =]|["'],\\s?["'])?["']?[^\\s:"'$]{1,64}:${VALUE}`,
  ],
  ['sshpass', `sshpass -p ?${VALUE}`],
  ['mysql|maria', `(?:mysql|mariadb)\\w{0,8}\\b${REST}-p${VALUE}`],
  [
    'docker|podman|helm|skopeo|oras|az login',
    `(?:(?:docker|podman|oras|skopeo|az) login|helm registry login)\\b${REST}-p[ =]?${VALUE}`,
  ],
  ['redis-cli|valkey-cli', `(?:redis|valkey)-cli\\b${REST}-a ?${VALUE}`],
  ['ldap', `ldap(?:search|add|modify|delete|whoami|passwd)\\b${REST}-w ?${VALUE}`],
  ['htpasswd', `htpasswd\\b${REST}-\\w{0,4}b\\w{0,4} \\S{1,200} \\S{1,64} ${VALUE}`],
  ['smbclient|rpcclient', `(?:smbclient|rpcclient)\\b${REST}-U ?["']?[\\w.\\\\/@-]{1,64}%${VALUE}`],
  ['net user', `net user [\\w.-]{1,64} ${VALUE}(?= /add)`],
  ['sqlcmd|bcp', `(?:sqlcmd|bcp)\\b${REST}-P ?${VALUE}`],
  ['unzip|zip', `(?:unzip|zip)\\b${REST}-P ?${VALUE}`],
  ['machine', `machine\\s{1,8}\\S{1,200}\\s{1,8}login\\s{1,8}\\S{1,64}\\s{1,8}password\\s{1,8}${VALUE}`],
  ['default login', `default\\s{1,8}login\\s{1,8}\\S{1,64}\\s{1,8}password\\s{1,8}${VALUE}`],
  ['-passin|-passout', `-pass(?:in|out) pass:${VALUE}`],
  ['auth ', `(?<=(?:^|\\n|> |\\r)\\s{0,4})AUTH (?:[\\w.-]{1,32} )?${VALUE}(?=\\s*(?:\\r?\\n|$))`],
  [
    'identified',
    `identified\\s{1,8}(?:with\\s{1,8}\\S{1,40}\\s{1,8})?(?:by|as)\\s{1,8}(?:password\\s{1,8})?(?:['"]([^'"\\n]{3,200})['"]|([\\w$#!]{4,64})(?=\\s{0,4};))`,
  ],
  ['password(', `(?<=[=\\s])password\\(${VALUE}(?=')`],
  ['snmp-server', `snmp-server community ${VALUE}`],
  ['converttosecurestring', `ConvertTo-SecureString\\s{1,4}(?:-String\\s{1,4})?${VALUE}`],
  ['convertto-secure', `ConvertTo-SecureString\\s{1,4}(?:-String\\s{1,4})?${VALUE}`],
  ['wifi:', `WIFI:(?:[A-OQ-Z]:[^;\\n]{0,64};){0,4}P:${VALUE}`],
  ['jdbc:oracle', `jdbc:oracle:\\w{1,8}:[\\w$]{1,64}/${VALUE}(?=@)`],
];

/** The finders, by what the text has where they apply. */
export function commandFinders(): (readonly [starts: readonly string[], find: Finder])[] {
  return COMMANDS.map(([starts, source]) => {
    // Options of commands differ by case, SQL does not.
    const form = new RegExp(source, source.includes(REST) ? 'y' : 'iy');
    return [starts.split('|'), commandFinder(form)];
  });
}

function commandFinder(form: RegExp): Finder {
  return (text, at) => {
    if (/[\w-]/.test(text.charAt(at - 1)) && text.charAt(at) !== '-') return undefined;
    form.lastIndex = at;
    const match = form.exec(text);
    const value = (match?.[1] ?? match?.[2])?.replace(/[)\]}]+$/, '');
    if (match === null || value === undefined || value.length < 3 || isPlaceholder(value)) return undefined;
    const start = at + match[0].lastIndexOf(value);
    return { start, end: start + value.length, kind: 'secret' };
  };
}

const PASS_LINE = /:(?:\d{2,5}|\*):[^\s:"']{1,64}:[^\s:"']{1,64}:([^\s"':]{3,128})(?=\s|$)/y;

/** A line of `.pgpass`: host, port, database, user, password. */
export const findPassLine: Finder = (text, at) => {
  PASS_LINE.lastIndex = at;
  const value = PASS_LINE.exec(text)?.[1];
  if (value === undefined || isPlaceholder(value)) return undefined;
  const before = text.slice(Math.max(0, at - 100), at);
  if (!/(?:^|\n)[\w.*-]{1,99}$/.test(before)) return undefined;
  return { start: PASS_LINE.lastIndex - value.length, end: PASS_LINE.lastIndex, kind: 'secret' };
};

const CHPASSWD = /chpasswd/iy;

/** The password that is piped into `chpasswd`. */
export const findPiped: Finder = (text, at) => {
  CHPASSWD.lastIndex = at;
  if (!CHPASSWD.test(text)) return undefined;
  const from = Math.max(0, at - 200);
  const match = /echo\s+["']?[\w.-]{1,64}:([^\s"']{3,128})["']?\s*\|\s*(?:sudo )?$/.exec(
    text.slice(from, at),
  );
  if (match?.[1] === undefined) return undefined;
  const start = from + match.index + match[0].lastIndexOf(match[1]);
  return { start, end: start + match[1].length, kind: 'secret' };
};
