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
  ['machine', `machine\\s{1,8}\\S{1,200}\\s{1,8}login\\s{1,8}\\S{1,64}\\s{1,8}password\\s{1,8}${VALUE}`],
  ['default login', `default\\s{1,8}login\\s{1,8}\\S{1,64}\\s{1,8}password\\s{1,8}${VALUE}`],
  // A line of `.pgpass`.
  [':5432:', `:5432:[^\\s:]{1,64}:[^\\s:]{1,64}:${VALUE}`],
  ['-passin|-passout', `-pass(?:in|out) pass:${VALUE}`],
  ['password ', `(?<=\\b(?:with|login|encrypted)\\s)password\\s{1,4}'([^'\\n]{3,200})'`],
  [
    'identified',
    `identified\\s{1,8}(?:with\\s{1,8}\\S{1,40}\\s{1,8})?(?:by|as)\\s{1,8}(?:password\\s{1,8})?(?:['"]([^'"\\n]{3,200})['"]|([\\w$#!]{4,64})(?=\\s{0,4};))`,
  ],
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
    if (/[\w-]/.test(text.charAt(at - 1)) && /\w/.test(text.charAt(at))) return undefined;
    form.lastIndex = at;
    const match = form.exec(text);
    const value = (match?.[1] ?? match?.[2])?.replace(/[)\]}]+$/, '');
    if (match === null || value === undefined || value.length < 3 || isPlaceholder(value)) return undefined;
    const start = at + match[0].lastIndexOf(value);
    return { start, end: start + value.length, kind: 'secret' };
  };
}
