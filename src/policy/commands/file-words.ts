/** Which words of common programs are files, by their manuals. */

export interface FileWords {
  /** Options whose value is a file that is read, or written; of short ones the value may be joined. */
  readonly reads?: string;
  readonly writes?: string;
  /** Options whose value is an address, or has a file after `@` or `<`. */
  readonly addresses?: string;
  readonly data?: string;
  /** Those of the options whose file has more options or addresses. */
  readonly tells?: string;
  /** Words with which it opens files that no word names. */
  readonly opens?: RegExp;
  /** Words with which it goes on to addresses that a server names, and those with which it does not. */
  readonly follows?: RegExp;
  readonly stays?: RegExp;
  /** Whether `host:path` is of another machine. */
  readonly isRemote?: boolean;
  /** Other options with a value in the next word. */
  readonly valued?: string;
  /** Short options that take the rest of their word. */
  readonly attached?: string;
  /** Operands: all read, all written, or the last written and the others read; or addresses. */
  readonly operands?: 'read' | 'write' | 'copy' | 'fetch';
  /** Leading operands that are no files, unless one of some options stands for them. */
  readonly skips?: number;
  readonly instead?: string;
  /** A word with which all that is in a folder is read. */
  readonly trees?: RegExp;
  /** What it writes to where no option says so. */
  readonly otherwise?: string;
}

const READ: FileWords = { operands: 'read' };
const COPY: FileWords = {
  operands: 'copy',
  writes: '-t --target-directory',
  valued: '-S -m -o -g',
  trees: /^-(?:[A-Za-z]*[rRa]|-rec|-arch)/,
};
const ANY = /^/;
const RECURSES = /^-(?:[A-Za-z]*r|-rec)/;
const SUMS: FileWords = { operands: 'read', valued: '-b -w' };
/** `head -20c FILE`: a count without an option's letter has no value. */
const LINES: FileWords = { operands: 'read', valued: '-n -c -s', attached: '0123456789' };
const GREP: FileWords = {
  operands: 'read',
  skips: 1,
  instead: '-e -f --regexp --file',
  valued: '-m -A -B -C -e -d -D --regexp --max-count --include --exclude --exclude-dir',
  reads: '-f --file --exclude-from',
  trees: /^-(?:[A-Za-z]*[rR]|-(?:deref.*)?rec|-directories=rec|drec)/,
};
const RG: FileWords = {
  ...GREP,
  trees: /^-(?:[A-Za-z]*[u.]|-hidden|-no-ig|-unr)/,
  valued: '-m -A -B -C -g -t -T -M -j -e -r -E -d --glob --type --max-count --regexp',
};
const AWK: FileWords = {
  operands: 'read',
  skips: 1,
  instead: '-f --file',
  valued: '-F -v',
  reads: '-f --file',
};
const AG: FileWords = {
  operands: 'read',
  skips: 1,
  trees: /^-(?:[A-Za-z]*[aUu]|-hidden|-unr|-all-|-skip-vcs)/,
  valued: '-A -B -C -g -G -m -W --depth --ignore --max-count --width',
  reads: '-p --path-to-ignore',
};
/** Its script is no file. */
const SED: FileWords = {
  operands: 'read',
  skips: 1,
  instead: '-e -f --expression --file',
  valued: '-e -l --expression --line-length',
  reads: '-f --file',
  attached: 'i',
  // A suffix that is a path.
  opens: /^-(?:-in-place=|[nErsuz]*i).*[/*]/,
};
/**
 * Names as the archive has them, which are written where it is unpacked, or from a list; an archive `host:path`, whose
 * options may be in one word without a dash.
 */
const TAR: FileWords = {
  trees: ANY,
  opens:
    /^(?:(?:-|[Acdrtux])[A-OQ-SU-Za-z]*[PT][A-Za-z]*|(?:-[A-Za-z]*|[Jafjkvz]*)x[A-Za-z]*|--(?:abs|files-f|ext|get)[\w-]*(?:=.*)?|[\w.@-]+:.*)$/,
};
const PAGER: FileWords = {
  operands: 'read',
  writes: '-o -O --log-file --LOG-FILE',
  reads: '-k -T --lesskey-src',
};
const MAKES: FileWords = { operands: 'write', valued: '-m --mode' };

/**
 * By the manuals of GNU coreutils 9, diffutils 3.10, findutils 4.9, grep 3.11, gawk 5.2, jq 1.7, curl 8, wget 1.21 and
 * OpenSSL 3, tree 2, less 643, tar 1.35, Info-ZIP 3 and 6, rsync 3.2. Words that no row is about are files if they look like it.
 */
export const FILES: Readonly<Record<string, FileWords>> = {
  ...{ cat: READ, tac: READ, nl: READ, less: PAGER, more: READ, strings: READ },
  wc: { operands: 'read', reads: '--files0-from' },
  ...{ zcat: READ, comm: READ, tsort: READ, rev: READ, cmp: READ, pr: READ, zless: READ, zmore: READ },
  ...{ rg: RG, ag: AG, zgrep: GREP, awk: AWK, gawk: AWK, mawk: AWK, nawk: AWK, mkdir: MAKES, rmdir: MAKES },
  ...{
    tar: TAR,
    bsdtar: TAR,
    cpio: { opens: ANY },
    pax: { opens: ANY },
    unzip: { opens: ANY },
    patch: { opens: ANY },
  },
  ...{ zip: { trees: RECURSES, opens: /^-\w*@/ }, scp: { trees: RECURSES } },
  du: { reads: '--files0-from -X --exclude-from' },
  tree: { writes: '-o', reads: '--fromfile --fromtabfile --gitfile --infofile' },
  cut: { operands: 'read', valued: '-b -c -d -f' },
  paste: { operands: 'read', valued: '-d' },
  fold: { operands: 'read', valued: '-w' },
  fmt: { operands: 'read', valued: '-w -g -p' },
  column: { operands: 'read', valued: '-c -s -o -l -N -R -H -W -O -C -n -r -i -p' },
  od: { operands: 'read', valued: '-A -j -N -t -w -S' },
  diff: { operands: 'read', trees: RECURSES, valued: '-x -I -U -C', reads: '--from-file --to-file' },
  jq: { operands: 'read', skips: 1, instead: '-f --from-file', reads: '-f --from-file -L' },
  xargs: { reads: '-a --arg-file' },
  ...{ base64: SUMS, base32: SUMS, sha256sum: SUMS, md5sum: SUMS, head: LINES, tail: LINES },
  ...{ cp: COPY, ln: COPY, install: COPY, mv: { ...COPY, trees: ANY }, grep: GREP, egrep: GREP, fgrep: GREP },
  curl: {
    operands: 'fetch',
    valued:
      '-A -C -P -Q -U -X -Y -e -h -m -r -t -u -y -z --max-time --referer --request --retry --user --user-agent --proxy-user --range --connect-timeout --max-redirs --interface --ciphers',
    addresses:
      '-x --proxy --preproxy --proxy1.0 --socks4 --socks4a --socks5 --socks5-hostname --url --doh-url --connect-to --resolve',
    data: '-d -F -H -b -w --write-out --data --data-ascii --data-binary --data-raw --data-urlencode --form --header --proxy-header --json --url-query --cookie',
    reads:
      '-T --upload-file -K --config --cacert --cert -E --key --netrc-file --unix-socket --abstract-unix-socket',
    tells: '-K --config',
    // Whose name the server says; logins in the home folder.
    opens: /^-[A-Za-z]*[Jn]|^--(?:remote-header|net(?!rc-f))/,
    follows: /^-[A-Za-z]*L|^--locat/,
    writes:
      '-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --output-dir',
  },
  openssl: {
    addresses: '-connect -proxy -host',
    reads: '-in -key -inkey -cert -CA -CAkey -config -file -passin',
    writes: '-out -keyout -CAserial -writerand',
  },
  find: { reads: '-files0-from', writes: '-fprint -fprint0 -fprintf -fls' },
  git: { writes: '--output --output-directory' },
  rsync: {
    operands: 'copy',
    isRemote: true,
    trees: COPY.trees ?? ANY,
    writes: '--log-file --backup-dir --partial-dir',
    reads: '--files-from --exclude-from',
    valued: '--exclude --include',
  },
  sed: SED,
  yq: {
    operands: 'read',
    skips: 1,
    instead: '-f --from-file',
    reads: '-f --from-file',
    // Files whose names its input says.
    opens: /^-[A-Za-z]*s|^--split-exp/,
  },
  sort: { operands: 'read', writes: '-o --output', valued: '-k -t -S', reads: '--files0-from' },
  tee: { operands: 'write' },
  touch: { operands: 'write', valued: '-d -t', reads: '-r --reference' },
  truncate: { operands: 'write', valued: '-s', reads: '-r --reference' },
  wget: {
    operands: 'fetch',
    valued:
      '-t -T -w -U -Q -l -A -R -I -X -D -B -e --header --method --post-data --body-data --user --password --tries --timeout',
    attached: 'n',
    opens: /^-[A-Za-z]*[Hmr]|^--(?:mirror|recursive|span-h|content-disp|trust-server)/,
    follows: ANY,
    stays: /^--max-redirect=0$/,
    tells: '-i --input-file --config',
    reads: '-i --input-file --post-file --body-file --config',
    writes: '-O --output-document -P --directory-prefix -o --output-file -a --append-output --save-cookies',
    otherwise: '.',
  },
};
