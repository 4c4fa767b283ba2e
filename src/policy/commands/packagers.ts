/** Commands that fetch code which they, or what is run later, run. */
import type { CommandWord } from './actions.ts';

interface Packager {
  /** Verbs that fetch nothing: any other may. Undefined: only the words of `fetches` do. */
  readonly local?: RegExp;
  readonly fetches?: RegExp;
  /** Options with which nothing comes that is not there, or not in a lock file. */
  readonly locked?: RegExp;
  /** Whether it fetches without a word. */
  readonly bare?: boolean;
}

/** Verbs that fetch, of most package managers; the last five are of apt. */
const VERBS =
  `i install.* add ci get require update upgrade up sync create.* dlx x fetch download publish tool global
  full-upgrade dist-upgrade build-dep source satisfy`.split(/\s+/);
const FETCHES = new RegExp(`^(?:${VERBS.join('|')})$|@(?:latest|v?\\d)|^\\w+://`);
const COMMON: Packager = { fetches: FETCHES };
const ENVIRONMENTS: Packager = { fetches: new RegExp(`^(?:run|test|build|shell)$|${FETCHES.source}`) };
const IMAGES: Packager = { fetches: /^(?:pull|build|bake|up|load|import)$/ };
const PROVIDERS: Packager = { fetches: /^(?:init|get|install)$/ };
const VERSIONS: Packager = { fetches: /^(?:i|install|use|exec|x|up|upgrade|update|plugin.*)$|@/ };
const ANY: Packager = { local: /^(?!)/, bare: true };
const BUILDS: Packager = { ...ANY, locked: /^(?:-o|--offline)$/ };

/**
 * By their manuals: npm 11, pip 25, Cargo 1.86 (what the manifest names is fetched, and its build scripts run, by each verb
 * that builds), Go 1.24 (which builds nothing that go.sum lacks), Maven 3.9, Gradle 8, .NET 9 (which restores before it
 * builds), uv 0.7 (which syncs before it runs), Deno 2, Docker 28, Helm 3, Terraform 1.
 */
const PACKAGERS: Readonly<Record<string, Packager>> = {
  npm: {
    local:
      /^(?:run(?:-script)?|t|tst|test|start|stop|restart|ls|list|version|help|exec|prefix|root|config|set)$/,
  },
  pip: { local: /^(?:list|show|freeze|check|inspect|help|debug|hash|cache|config)$/ },
  cargo: {
    local:
      /^(?:fmt|clean|help|init|new|locate-project|login|logout|owner|pkgid|read-manifest|remove|rm|search|uninstall|version|yank)$/,
    locked: /^--(?:locked|frozen|offline)$/,
  },
  go: { fetches: /@|^(?:get|install|download|tidy|vendor|-w|-u)$|^--?mod(?:file)?=(?!vendor$|readonly$)/ },
  dotnet: { local: /^(?:clean|help|sln|build-server|dev-certs|user-secrets)$/, locked: /^--no-restore$/ },
  deno: { local: /^(?:fmt|lint|help|completions|types|task)$/, locked: /^--(?:no-remote|cached-only)$/ },
  uv: { local: /^(?:help|version|cache|init|venv)$/, locked: /^--(?:locked|frozen|offline|no-sync)$/ },
  pipx: { local: /^(?:list|environment|ensurepath|help|completions|uninstall|uninstall-all)$/ },
  ...{ mvn: BUILDS, mvnw: BUILDS, gradle: BUILDS, gradlew: BUILDS, sbt: BUILDS },
  ...{ hatch: ENVIRONMENTS, rye: ENVIRONMENTS, tox: ANY },
  ...{ docker: IMAGES, podman: IMAGES, 'docker-compose': IMAGES, 'podman-compose': IMAGES },
  ...{ terraform: PROVIDERS, tofu: PROVIDERS, 'ansible-galaxy': PROVIDERS },
  helm: { fetches: /^(?:install|upgrade|pull|template|dep.*|plugin)$/ },
  ...{ asdf: VERSIONS, mise: VERSIONS, nvm: VERSIONS, pyenv: VERSIONS, volta: VERSIONS, rustup: VERSIONS },
  gh: { fetches: /^(?:extensions?|ext)$/ },
  yarn: { fetches: new RegExp(`^(?:set|plugin)$|${FETCHES.source}`), bare: true },
  ...{ bundle: { ...COMMON, bare: true }, cpan: ANY, cpanm: ANY, easy_install: ANY },
};
const OTHERS = new Set(
  `pnpm bun gem apt apt-get aptitude dnf yum apk snap brew conda mamba micromamba poetry pdm pipenv nuget luarocks opam composer
  flatpak pacman zypper nix-env nix-shell nix emerge port pkg choco winget scoop code`.split(/\s+/),
);

export function isPackager(program: string): boolean {
  return Object.hasOwn(PACKAGERS, program) || OTHERS.has(program);
}

/** Whether a command fetches code. */
export function fetchesCode(program: string, words: readonly CommandWord[]): boolean {
  const name = program.replace(/^.*\/(?=gradlew$|mvnw$)/, '').replace(/(?<=^pip)[\d.]+$/, '');
  const own = Object.hasOwn(PACKAGERS, name) ? PACKAGERS[name] : undefined;
  const { local, fetches, locked, bare } = own ?? (OTHERS.has(name) ? COMMON : {});
  const texts = words.map(({ value, text }) => value ?? text);
  if (name === 'uv' && texts[0] === 'pip') return fetchesCode('pip', words.slice(1));
  if (texts.length === 0) return bare === true;
  const isLocked = locked !== undefined && texts.some((text) => locked.test(text));
  // Of what a verb names itself no lock file tells.
  if (isLocked && !texts.some((text) => FETCHES.test(text))) return false;
  if (local === undefined) return fetches !== undefined && texts.some((text) => fetches.test(text));
  const verb = texts.find(
    (text) => !/^(?:-(?:[sqdv]+|-silent|-quiet|-verbose|-[\w-]+=.*)|\+\w[\w.-]*)$/.test(text),
  );
  const tells =
    texts.length === 1 ? /^(?:-[vVh]|--version|--help|--info|--list.*)$/ : /^(?:--version|--help)$/;
  return verb !== undefined && !local.test(verb) && !tells.test(verb);
}
