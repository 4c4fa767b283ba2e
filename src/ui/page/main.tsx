import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Compare } from './compare.tsx';
import { Cost } from './cost.tsx';
import { setPaused, startLive } from './data.ts';
import { Icon, type IconName } from './parts.tsx';
import { link, type Route, useRoute } from './route.ts';
import { Run } from './run.tsx';
import { Runs } from './runs.tsx';
import { Tools } from './tools.tsx';

const VIEWS = [
  ['runs', 'Runs', 'r'],
  ['tools', 'Tools', 't'],
  ['cost', 'Cost', 'c'],
  ['compare', 'Compare', 'm'],
] as const satisfies readonly (readonly [IconName, string, string])[];

const TITLES: Readonly<Record<string, string>> = {
  run: 'Run',
  ...Object.fromEntries(VIEWS.map(([view, name]) => [view, name])),
};

function App() {
  const route = useRoute();
  const [isPaused, pause] = useState(false);
  const [theme, setTheme] = useTheme();
  const help = useRef<HTMLDialogElement>(null);
  const togglePause = () => {
    setPaused(!isPaused);
    pause(!isPaused);
  };
  const toggleTheme = () => setTheme(isDark(theme) ? 'light' : 'dark');
  useKeys({ p: togglePause, t: toggleTheme, '?': () => help.current?.showModal() });
  useEffect(() => {
    document.title = `${TITLES[route.view] ?? 'Page'} · mcp-observatory`;
    document.body.dataset.view = route.view;
  }, [route.view]);
  const current = route.view === 'run' ? 'runs' : route.view;
  const nav = (isTabs: boolean) =>
    VIEWS.map(([view, name]) => (
      <a key={view} href={link(view)} aria-current={view === current ? 'page' : undefined}>
        {isTabs && <Icon name={view} class="" />}
        {name}
      </a>
    ));
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <header id="top">
        <a class="logo" href={link('runs')}>
          <svg viewBox="0 0 18 18" aria-hidden="true">
            <path d="M1 4h8M5 9h8M9 14h8" />
          </svg>
          <span>mcp-observatory</span>
        </a>
        <nav class="nav" aria-label="Views">
          {nav(false)}
        </nav>
        <span class="push" />
        <button
          type="button"
          class="btn live"
          aria-pressed={!isPaused}
          onClick={togglePause}
          title="New runs enter as they arrive (p)"
        >
          {isPaused ? <Icon name="pause" class="" /> : <span class="dot" />}
          {isPaused ? 'Paused' : 'Live'}
        </button>
        <button
          type="button"
          class="btn ico"
          aria-label="Keys"
          title="Keys (?)"
          onClick={() => help.current?.showModal()}
        >
          ?
        </button>
        <button
          type="button"
          class="btn ico"
          aria-label={isDark(theme) ? 'Light colors' : 'Dark colors'}
          title="Colors (t)"
          onClick={toggleTheme}
        >
          <Icon name="sun" class="" />
        </button>
      </header>
      <main id="main" tabIndex={-1}>
        <View route={route} />
      </main>
      <nav id="tabs" aria-label="Views, below">
        {nav(true)}
      </nav>
      <Help dialog={help} />
    </>
  );
}

function View({ route }: { route: Route }) {
  switch (route.view) {
    case 'run':
      return <Run key={route.args[0]} route={route} />;
    case 'tools':
      return <Tools route={route} />;
    case 'cost':
      return <Cost route={route} />;
    case 'compare':
      return <Compare route={route} />;
    default:
      return <Runs route={route} />;
  }
}

const KEYS: readonly (readonly [string, string])[] = [
  ['j k', 'next, previous run'],
  ['↵', 'open the run'],
  ['/', 'filter'],
  ['1 2', 'tabs of a run'],
  ['esc', 'close the details, then the run'],
  ['g then r t c m', 'Runs, Tools, Cost, Compare'],
  ['p', 'pause, resume'],
  ['t', 'colors'],
];

function Help({ dialog }: { dialog: preact.RefObject<HTMLDialogElement> }) {
  return (
    <dialog ref={dialog} aria-labelledby="keys">
      <div class="help">
        <h2 id="keys">Keys</h2>
        <dl>
          {KEYS.map(([keys, does]) => (
            <div key={keys} class="kv">
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
        <form method="dialog">
          <button class="btn" type="submit">
            Close
          </button>
        </form>
      </div>
    </dialog>
  );
}

/** Keys that work anywhere but in a field or with a dialog open. */
function useKeys(actions: Readonly<Record<string, () => void>>): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let isAfterG = false;
    const onKey = (event: KeyboardEvent) => {
      const { target } = event;
      if (target instanceof HTMLElement && /^(?:INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
      if (event.metaKey || event.ctrlKey || event.altKey || document.querySelector('dialog[open]') !== null)
        return;
      const [view, id, tab] = location.hash.slice(2).split('?', 1)[0]?.split('/') ?? [];
      if (isAfterG) {
        const found = VIEWS.find(([, , key]) => key === event.key);
        isAfterG = false;
        if (found !== undefined) location.hash = link(found[0]);
        return;
      }
      if (event.key === 'g') isAfterG = true;
      else if (event.key === '/') {
        event.preventDefault();
        document.getElementById('filter')?.focus();
      } else if (view === 'run' && event.key === 'Escape') {
        location.hash = location.hash.includes('span=')
          ? link(`run/${id}/${tab ?? 'conversation'}`)
          : link('runs');
      } else if (view === 'run' && (event.key === '1' || event.key === '2')) {
        location.hash = link(`run/${id}/${event.key === '1' ? 'conversation' : 'waterfall'}`);
      } else latest.current[event.key]?.();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

type Theme = 'light' | 'dark' | '';

function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = read();
    return stored === 'light' || stored === 'dark' ? stored : '';
  });
  useEffect(() => {
    if (theme === '') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem('theme', theme);
    } catch {
      // A browser without storage forgets the choice.
    }
  }, [theme]);
  return [theme, setTheme];
}

function read(): string | null {
  try {
    return localStorage.getItem('theme');
  } catch {
    return null;
  }
}

function isDark(theme: Theme): boolean {
  return theme === '' ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
}

startLive();
const root = document.getElementById('app');
if (root !== null) render(<App />, root);
