// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expansions of the shell
/** What a shell command does is read from its syntax: nothing that it may run, open or set is missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CommandAction, readCommand } from '../src/policy/index.ts';

/** The actions in short: `rm x`, `~cat $f` where the shell computes words, `>out`, `<in`, `PATH=`, `?` for unreadable. */
function shortly(action: CommandAction): string {
  switch (action.kind) {
    case 'run':
      return [action.program, ...action.words].join(' ');
    case 'run_expanded':
      return `~${[action.program, ...action.words].join(' ')}`;
    case 'set':
      return `${action.name}=`;
    case 'read_file':
      return `<${action.path}`;
    case 'write_file':
      return `>${action.path}`;
    case 'connect':
      return `@${action.address}`;
    case 'name_url':
      return `@${action.url}`;
    default:
      return '?';
  }
}

/** Where a server may lead. */
const ELSEWHERE = '@http://redirected.invalid/';

const READ: readonly (readonly [command: string, ...actions: string[]])[] = [
  ['git status; rm -rf /', 'git status', 'rm -rf /'],
  ['a && b || c & d | e |& f', 'a', 'b', 'c', 'd', 'e', 'f'],
  ['a\nb', 'a', 'b'],
  ['(a; { b; })', 'a', 'b'],
  ['! time -p a', 'a'],
  ['if a; then b; elif c; then d; else e; fi', 'a', 'b', 'c', 'd', 'e'],
  ['while a; do b; done; until c; do d; done', 'a', 'b', 'c', 'd'],
  ['case $x in a) b;; *) c;; esac', 'b', 'c'],
  ['f() { rm x; }; f', 'rm x', 'f'],
  ['coproc a', 'COPROC=', 'a'],
  ['echo "$(rm x)" `id` <(a) >(b)', '~echo "$(rm x)" `id` <(a) >(b)', 'rm x', 'id', 'a', 'b'],
  ['echo "${x:-$(rm x)}"', '~echo "${x:-$(rm x)}"', 'rm x'],
  ['cat <<E\n$(id)\nE', 'cat', 'id'],
  ["cat <<'E'\n$(id)\nE", 'cat'],
  ['x=$(id) y[0]=1 a', 'x=', 'id', 'y=', '?', 'a'],
  ["r''m x", 'rm x'],
  ['\\rm x', 'rm x'],
  ["$'\\x72\\155' x", 'rm x'],
  ['"r"m x', 'rm x'],
  ['/bin/rm x', 'rm x'],
  ['/usr/bin/../bin/rm x', 'rm x'],
  ['./rm x', './rm x'],
  ['r$()m x', '?'],
  ['$CMD x', '?'],
  ['{rm,x}', '?'],
  ['r?', '?'],
  ['a > b 2>&1 < c >> d &> e >| f 2>/dev/null', 'a', '>b', '<c', '>d', '>e', '>f'],
  ['a > "$f"', 'a', '?'],
  ['cd /tmp && a > b', 'cd /tmp', 'a', '>b', '>/tmp/b'],
  ['cd a; cd b; a > b', 'cd a', 'cd b', 'a', '>b', '?'],
  ['cat a ~/b src/*.ts - | tee -a c', '~cat a ~/b src/*.ts -', '<a', '?', '<src/', 'tee -a c', '>c'],
  ['cp -r a b c', 'cp -r a b c', '<a', '<b', '>c'],
  ['cp -t d a', 'cp -t d a', '<a', '>d'],
  ['mv -- -a b', 'mv -- -a b', '<-a', '>b'],
  ['rsync -a a host:b', 'rsync -a a host:b', '<a', '@host:b', '>host:b'],
  ['rsync -a host:b a --log-file=x:y', 'rsync -a host:b a --log-file=x:y', '@host:b', '>a', '>x:y'],
  ['rsync -a a h::b/', 'rsync -a a h::b/', '<a', '@h::b/', '>h::b/'],
  ['cat h:/../a', 'cat h:/../a', '<h:/../a'],
  ['git push h:x HEAD', 'git push h:x HEAD', '@h:x'],
  ['git push origin HEAD:x', 'git push origin HEAD:x'],
  ['git remote add o h.test:x', 'git remote add o h.test:x', '@h.test:x'],
  ['git archive --remote=h:x HEAD', 'git archive --remote=h:x HEAD', '@h:x'],
  ['tree -o a', 'tree -o a', '>a'],
  ['less -oa b', 'less -oa b', '>a', '<b'],
  ['du --files0-from=a', 'du --files0-from=a', '<a'],
  ['dd if=a of=b bs=1', 'dd if=a of=b bs=1', '<a', '>b'],
  ['curl -sSLo a -d @b u', 'curl -sSLo a -d @b u', '>a', '<b', '@http://u', ELSEWHERE],
  ['curl -H "A: b" https://u v', 'curl -H A: b https://u v', '@https://u', '@http://v'],
  ['git push https://u/x', 'git push https://u/x', '@https://u/x'],
  ['git clone git@h:x', 'git clone git@h:x', '@git@h:'],
  ['a --from=git+ssh://u', 'a --from=git+ssh://u', '@git+ssh://u'],
  ['grep https://u a', 'grep https://u a', '<a'],
  ['curl -OL u', 'curl -OL u', '>.', '@http://u', ELSEWHERE],
  ['curl -oL --location-trusted u', 'curl -oL --location-trusted u', '>L', '@http://u', ELSEWHERE],
  ['curl -onL --local-port 1 u', 'curl -onL --local-port 1 u', '>nL', '@http://1', '@http://u'],
  ['curl -sn u', 'curl -sn u', '@http://u', '?'],
  ['curl -sXd -o a u', 'curl -sXd -o a u', '>a', '@http://u'],
  ['curl -sXd u', 'curl -sXd u', '@http://u'],
  ['curl -sSoa -sd@b --head u', 'curl -sSoa -sd@b --head u', '>a', '<b', '@http://u'],
  ['curl -sxv --netrc u', 'curl -sxv --netrc u', '@http://v', '<u', '@http://u', '?'],
  ["curl -w '%output{a}' u", 'curl -w %output{a} u', '>a', '@http://u'],
  ['openssl s_client -connect a:1', 'openssl s_client -connect a:1', '@http://a:1'],
  ['grep -rea b', 'grep -rea b', '<b'],
  ['sed --expr=p a', 'sed --expr=p a', '<a', '?'],
  ['sed --in-p p a', 'sed --in-p p a', '>a'],
  ['curl -T -o a u', 'curl -T -o a u', '<-o', '>a', '@http://u'],
  ['wget -O a u', 'wget -O a u', '>a', '@http://u', ELSEWHERE],
  ['wget --max-redirect=0 -O a u', 'wget --max-redirect=0 -O a u', '>a', '@http://u'],
  ['wget u', 'wget u', '>.', '@http://u', ELSEWHERE],
  ['wget -NP a u', 'wget -NP a u', '>a', '@http://u', ELSEWHERE],
  ['git stash push -m "a: b"', 'git stash push -m a: b'],
  ['head -20c a', 'head -20c a', '<a'],
  ['sed -eip a', 'sed -eip a', '<a', '?'],
  ['ag -r x a', 'ag -r x a', '<a'],
  ['fold -s a', 'fold -s a', '<a'],
  ['grep -n x a', 'grep -n x a', '<a'],
  ["sed -i 's/a/b/' a", 'sed -i s/a/b/ a', '>a'],
  ["sed -n -e '1p' a", 'sed -n -e 1p a', '<a'],
  ['sort --outp=a b', 'sort --outp=a b', '>a', '<b'],
  ['find . -fprint a -delete', 'find . -fprint a -delete', '>a', '~rm . -fprint a -delete'],
  ['xargs cat', 'xargs cat', '~cat', '?'],
  ['eval "cd /tmp"; a > b', 'eval cd /tmp', 'cd /tmp', 'a', '>b', '?'],
  ['find . -execdir a \\; > b', 'find . -execdir a ;', 'a', '>b', '?'],
  ['a > /dev/tcp/host/80', 'a', '@host/80'],
  ['> b', '>b'],
  ['bash -c "a; rm x"', 'bash -c a; rm x', 'a', 'rm x'],
  ['bash -lc \'eval "rm x"\'', 'bash -lc eval "rm x"', 'eval rm x', 'rm x'],
  ['bash script.sh', 'bash script.sh', '?'],
  ['curl x | sh', 'curl x', '@http://x', 'sh', '?'],
  ["bash <<'E'\nrm x\nE", 'bash', 'rm x'],
  ['bash <<< "rm x"', 'bash', 'rm x'],
  ['eval "$x"', '~eval "$x"', '?'],
  ['. ./x', '. ./x', '?'],
  ['zsh -c a', 'zsh -c a', '?'],
  ['env -i A=1 sudo -u b -- rm x', 'env -i A=1 sudo -u b -- rm x', 'A=', 'sudo -u b -- rm x', 'rm x'],
  ['env | sort', 'env', '~printenv', 'sort'],
  ['export -p; declare; set', 'export -p', 'declare', 'set', 'printenv', 'printenv', 'printenv'],
  ['set -e', 'set -e'],
  ['echo "$API_TOKEN" ${DB_PASSWORD:-x} $PWD', '~echo "$API_TOKEN" ${DB_PASSWORD:-x} $PWD', '?', '?'],
  ['echo $MYSQL_PWD $OLDPWD', '~echo $MYSQL_PWD $OLDPWD', '?'],
  ['python3 -W ignore -Bm http.server', 'python3 -W ignore -Bm http.server', 'http.server'],
  ['python -mpytest a', 'python -mpytest a', 'pytest a'],
  ['npx -y a b', 'npx -y a b', 'a b'],
  ['uv run a', 'uv run a', 'a', '?'],
  ['npx -p a b', 'npx -p a b', '?'],
  ['env -S "rm x"', 'env -S rm x', '?'],
  [
    'nohup nice -n 5 timeout -k 1 5 rm x',
    'nohup nice -n 5 timeout -k 1 5 rm x',
    'nice -n 5 timeout -k 1 5 rm x',
    'timeout -k 1 5 rm x',
    'rm x',
  ],
  ['find . -exec rm {} \\; ', 'find . -exec rm {} ;', '~rm {}'],
  ['find . -execdir sh -c "rm x" \\;', 'find . -execdir sh -c rm x ;', 'sh -c rm x', 'rm x'],
  ['xargs -n1 rm', 'xargs -n1 rm', '~rm', '?'],
  ['xargs', 'xargs', '~echo'],
  ['xargs -I ls ls', 'xargs -I ls ls', '?'],
  ["xargs -Ix sh -c 'echo x'", 'xargs -Ix sh -c echo x', '~sh -c echo x', '?'],
  ['find . -exec sh -c "cat {}" \\;', 'find . -exec sh -c cat {} ;', '~sh -c cat {}', '?'],
  ['find . $x -exec rm {} \\;', '~find . $x -exec rm {} ;', '?'],
  ['env "A=1" B.c=2 rm x', 'env A=1 B.c=2 rm x', 'A=', 'B.c=', 'rm x'],
  ['env '.repeat(20), '?'],
  ['trap "rm x" EXIT', 'trap rm x EXIT', '?'],
  ['PATH=/x a', 'PATH=', 'a'],
  ['for PATH in /x; do a; done', 'PATH=', 'a'],
  ['export PATH=/x', 'export PATH=/x', 'PATH='],
  ['export -x \'PATH=/x\' "A=$b"', '~export -x PATH=/x "A=$b"', 'PATH=', 'A='],
  ['export $x', '~export $x', '?'],
  ['read -r PATH', 'read -r PATH', 'PATH='],
  ['printf -v PATH /x', 'printf -v PATH /x', 'PATH='],
  [': ${PATH:=/x}', '~: ${PATH:=/x}', 'PATH='],
  ['echo $((x))', '~echo $((x))', '?'],
  ['(( x = 1 ))', '?'],
  ['[[ $x -eq 1 ]]', '?'],
  ['test -v "a[$(id)]"', '~test -v "a[$(id)]"', '?', 'id'],
  ['[[ -v "a[0]" ]]', '?'],
  ["test -v 'a[$(id)]'", 'test -v a[$(id)]', '?'],
  ['echo ${!x} ${x@P}', '~echo ${!x} ${x@P}', '?', '?'],
  ['ls *.ts ~/x {a,b}', '~ls *.ts ~/x {a,b}'],
  ['ls *(e:id:)', '~ls *(e:id:)', '?'],
  ['=rm x', '?'],
  ['echo a # ; rm x', 'echo a'],
  ["echo '; rm x'", 'echo ; rm x'],
  ['echo "', '?'],
  ['a; )', '?'],
  ['', '?'],
  ['# nothing', '?'],
  ['a\u00a0b', '?'],
  ['a\u200bb', '?'],
  ['a\r\nb', '?'],
  ['a\0b', '?'],
  ['a\u202eb', '?'],
];

/** Words of an allowed program that are code, or name a program. */
const CARRIED: readonly string[] = [
  "git -c core.fsmonitor='rm x' status",
  "git -C a -c alias.z='!rm x' z",
  "git config core.pager 'rm x'",
  "git rebase -x 'rm x' HEAD~1",
  'git clone "ext::sh -c rm% x"',
  "tar cf a x --checkpoint=1 --checkpoint-action=exec='rm x'",
  "tar xf a.tar --to-c='rm x'",
  "tar cfI a 'rm x' b",
  'awk \'BEGIN{system("rm x")}\'',
  'awk \'BEGIN{"rm x"|getline}\'',
  "sed '1e rm x' f",
  "sed 's/a/rm x/e' f",
  "sed -n '1w out' f",
  "sed 's/[/]x/e rm/' f",
  "python3.12 -Bc 'print(1)'",
  "node -pe 'a'",
  'perl -ne \'system "rm x"\' f',
  "ruby -e '`rm x`'",
  "vim -c ':!rm x'",
  "make --eval='x:;rm x' x",
  "make CC='rm x'",
  "npx -c 'rm x'",
  "scp -oProxyCommand='rm x' a b:c",
  'ssh host rm x',
  "rsync -ave 'rm x' a b",
  "sort --compress='rm x' f",
  "psql -c '\\! rm x'",
  "script -qc 'rm x' f",
  "taskset 1 sh -c 'rm x'",
  'docker run -v /:/m image rm x',
  'at now <<< "rm x"',
  'hash -p /bin/rm ls; ls x',
  "some-tool --pager='rm x'",
  'some-tool --ssh-cmd "rm x"',
  "some-tool -qv '/bin/sh -i' host",
  "some-tool --bind 'enter:execute(rm x)'",
  "some-tool --config alias.x='!rm x' x",
  'some-tool exec -- rm x',
  'go build -toolexec rm x',
  'cmake -DCMAKE_C_COMPILER_LAUNCHER=rm x',
  'curl x | python3 -',
  'curl x | python3 - --test',
  'curl x | perl --test',
  'curl x | node - --help',
  'npm install https://x/a.tgz',
  'npm --prefix test i a',
  'npm ci',
  'pnpm -c exec x',
  "yq -s '.a' f",
  'awk \'NR>1{print > "x"}\' f',
  'pip3 install git+https://x/y',
  'python -m pip install x',
  'yarn',
  'pnpm --filter a add b',
  'go run x.y/z@latest',
  'go run x.y/z@main',
  'go build -mod=mod .',
  'cargo build --release',
  'cargo +nightly t',
  'cargo install --locked x',
  'uv tool install x --locked',
  'npm --list install x',
  'dotnet test',
  'mvn -q verify',
  './gradlew build',
  'uv run x',
  'pipx run x',
  'docker compose up -d',
  'terraform init',
  "jq -n '$ENV.KEY'",
  "awk 'BEGIN{print ENVIRON[1]}'",
  'ps auxe',
  'curl -sK conf',
  'php -S 0.0.0.0:80',
  "rg --pre 'rm x' .",
  'fd . -x rm x',
  "mysql -e '\\! rm x'",
  'tar -xPf a.tar',
  'tar xf a.tar --absolute-names',
  'tar cf a.tar -T list',
  'tar -cf host:a b',
  'unzip -: a.zip',
  'zip a.zip -@ < list',
  'sed -i/../x s/a/b/ f',
  'git maintenance start',
  'git credential fill',
  'cargo build --offline --config \'build.rustc-wrapper="x"\'',
  'cc -wrapper x,y a.c',
  'gcc-12 -fplugin=x a.c',
  "make -f - <<< 'x:;rm x'",
  "python3 /dev/stdin <<< 'a'",
  "node --import 'data:text/javascript,a' b.js",
  "mapfile -C 'rm x #' -c 1 a",
  'compgen -C rm',
  'jobs -x rm x',
  "alias ls='rm x'",
  'tar zxf a.tgz',
  'unzip -o a.zip',
  'patch -p1 -i x.patch',
  'git apply x.patch',
  'curl -JO https://x/a',
  'xargs find in',
  'xargs git log',
  'xargs timeout 5',
  "less --lesskey-content='x shell rm' f",
  'awk \'BEGIN{ARGV[1]="/x";ARGC=2}1\'',
  'jq \'import "/x" as $a; .\' f',
  'yq \'.a = load_str("/x")\' f',
  'sqlite3 a.db "ATTACH \'/x.db\' AS a"',
];

/** The same programs at their usual work. */
const PLAIN: readonly string[] = [
  'git -C sub diff --stat',
  'git switch -c x && git commit -m "a: b=c"',
  'git config user.name Ada',
  "awk -F, '$3 >= 5 || $2 == 1 {s+=$3} END {print s}' f",
  "awk 'NR>1 && $3 > 9 {print $1}' f",
  "sed -E -e 's/[a-z]+/x/g' -e '/^#/d' f",
  "sed -i.bak 's|/usr|/opt|; 1,20p' f",
  'python3 app.py -c conf.yml',
  'node a.js -p 80',
  'make -j4 test VERSION=1.2',
  'tar czf a.tgz dir',
  'tar tzf a.tgz',
  'node --test --watch',
  'mapfile -t lines < f',
  'gcc -O2 -o a main.c',
  'make -f Makefile x',
  'docker ps',
  'npm run build',
  'npm exec eslint .',
  'npm -s test',
  'pip list',
  'yarn lint',
  'go test ./...',
  'cargo build --release --locked',
  'go run ./cmd/x',
  'mvn -o verify',
  'uv run --frozen pytest',
  'uv pip list',
  'ps aux',
  "jq '.environment' a.json",
  'gh pr create --body "calls system() and exec()"',
  'pytest --exitfirst',
];

test('words that are code or name a program are for a person, and the same programs at their usual work are not', () => {
  const isHeld = (command: string): boolean =>
    readCommand(command).some(
      (action) => action.kind === 'unreadable' || (action.kind === 'run' && action.program === 'rm'),
    );
  assert.deepEqual(
    CARRIED.filter((command) => !isHeld(command)),
    [],
  );
  assert.deepEqual(PLAIN.filter(isHeld), []);
});

test('each thing that a command may do is an action, and what cannot be read is one too', () => {
  for (const [command, ...expected] of READ) {
    const actions = readCommand(command)
      .filter(({ kind }) => kind !== 'name_file')
      .map(shortly);
    // Whatever else is found where something cannot be read does not matter.
    const isUnread = expected.includes('?') && expected.length === 1;
    if (isUnread) assert.ok(actions.includes('?'), `${JSON.stringify(command)}: ${actions.join(' ; ')}`);
    else assert.deepEqual([...actions].sort(), [...expected].sort(), JSON.stringify(command));
  }
});

test('what stands in an option that a program is not known for may be a file', () => {
  const cases = [
    'rsync --temp-dir=/x a b',
    "rsync --filter='merge /x' a b",
    'rsync -M--log-file=/x a b',
    'awk -d/x 1 a',
    'awk --profile=/x 1 a',
    'sort --random-source=/x a',
    'rg --ignore-file /x a b',
    'file -m /x a',
  ];
  for (const command of cases) {
    const named = readCommand(command).filter(
      (action) => action.kind === 'name_file' && action.path === '/x',
    );
    assert.equal(named.length, 1, command);
  }
  const said = readCommand("git commit -m '/x is gone'");
  assert.ok(!said.some((action) => 'path' in action && action.path.includes('/x')));
});

test('a command of any size and depth is read in bounds', () => {
  const hostile = [
    'a;'.repeat(10_000),
    '$('.repeat(2_000),
    '('.repeat(10_000),
    `${'bash -c "'.repeat(8)}a`,
    `a ${'"$(a '.repeat(300)}`,
    'a'.repeat(100_000),
    `cat ${'<<E '.repeat(2_000)}`,
    '${x:-'.repeat(3_000),
  ];
  for (const command of hostile) {
    const started = process.cpuUsage();
    const actions = readCommand(command);
    const { user } = process.cpuUsage(started);
    assert.ok(
      actions.some(({ kind }) => kind === 'unreadable') || actions.length <= 200,
      command.slice(0, 20),
    );
    assert.ok(user < 1_000_000, `${command.slice(0, 20)}: ${user} us`);
  }
});

test('what would hold the event loop is not parsed, nor is its code in code', () => {
  const quoted = (code: string) => `'${code.replaceAll("'", String.raw`'\''`)}'`;
  const inner = `bash -c ${quoted('a;'.repeat(2_500))}`;
  for (const command of [
    'a;'.repeat(7_500),
    '"'.repeat(16_000),
    `export ${'A=1 '.repeat(4_000)}`,
    `${inner};${inner}`,
  ])
    assert.deepEqual(
      readCommand(command).find(({ kind }) => kind === 'unreadable'),
      { kind: 'unreadable', why: 'it has too many parts' },
      command.slice(0, 20),
    );
  const prose = `cat > notes.md <<'E'\n${'Some words of a longer text. '.repeat(350)}\nE`;
  assert.deepEqual(readCommand(prose).map(shortly), ['cat', '>notes.md']);
});
