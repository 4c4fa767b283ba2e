import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { formatCount } from '../../runs/index.ts';
import { Compare } from './compare.tsx';
import { Cost } from './cost.tsx';
import { useNewRuns } from './data.ts';
import { Help } from './help.tsx';
import { useKeys } from './keys.ts';
import { type PageConnection, setPaused, startLive, useConnection } from './live.ts';
import { Palette } from './palette.tsx';
import { countInTitle, Icon, type IconName, setTitle, Time } from './parts.tsx';
import { keepScroll, link, type Route, toView, useRoute } from './route.ts';
import { Run } from './run.tsx';
import { Runs } from './runs.tsx';
import { Locked, openSession, useLocked } from './session.tsx';
import { Start } from './start.tsx';
import { isDark, useTheme } from './theme.ts';
import { Tools } from './tools.tsx';
import { useWaitingCount, WaitingView } from './waiting.tsx';

const VIEWS = [
  ['runs', 'Runs', 'r'],
  ['tools', 'Tools', 't'],
  ['cost', 'Cost', 'c'],
  ['waiting', 'Waiting', 'w'],
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
  const [layer, setLayer] = useState<'help' | 'palette' | undefined>(undefined);
  const waits = useWaitingCount();
  const fresh = useNewRuns(isPaused);
  const isLocked = useLocked();
  const connection = useConnection();
  const togglePause = () => {
    setPaused(!isPaused);
    pause(!isPaused);
  };
  const toggleTheme = () => setTheme(isDark(theme) ? 'light' : 'dark');
  const views = VIEWS.map(([view, name, key]) => ({ view, name, key }));
  const openHelp = () => setLayer('help');
  useKeys(views, { p: togglePause, t: toggleTheme, '?': openHelp, palette: () => setLayer('palette') });
  useEffect(() => {
    setTitle(TITLES[route.view] ?? 'Start');
    document.body.dataset.view = route.view;
  }, [route.view]);
  useEffect(() => countInTitle(waits), [waits]);
  const current = route.view === 'run' ? 'runs' : route.view;
  const nav = (isTabs: boolean) =>
    VIEWS.map(([view, name]) => (
      <a key={view} href={toView(view)} aria-current={view === current ? 'page' : undefined}>
        {isTabs && <Icon name={view} class="" />}
        {name}
        {view === 'waiting' && waits > 0 && <span class="count"> {waits}</span>}
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
          class={connection.lost === undefined ? 'btn live' : 'btn live lost'}
          aria-pressed={!isPaused}
          onClick={togglePause}
          title="New runs enter as they arrive (p)"
        >
          {liveIcon(connection, isPaused)}
          {isLocked ? 'Signed out' : connection.lost ? LOST[connection.lost] : isPaused ? 'Paused' : 'Live'}
          {fresh !== undefined && fresh > 0 && <b class="count">{formatCount(fresh)} new</b>}
        </button>
        <span class="vh" role="status">
          {fresh !== undefined && fresh > 0 ? `${fresh} new` : ''}
        </span>
        <button
          type="button"
          class="btn pal"
          title="A view, a run, a tool or an action"
          onClick={() => setLayer('palette')}
        >
          <Icon name="search" class="dim" />
          <span>Go to, do</span>
          <kbd>{isMac() ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <button type="button" class="btn ico keys" aria-label="Keys" title="Keys (?)" onClick={openHelp}>
          ?
        </button>
        <button
          type="button"
          class="btn ico"
          aria-label={isDark(theme) ? 'Light colors' : 'Dark colors'}
          title="Colors (t)"
          onClick={toggleTheme}
        >
          <Icon name={isDark(theme) ? 'sun' : 'moon'} class="" />
        </button>
      </header>
      {!isLocked && <Lost connection={connection} />}
      <main id="main" tabIndex={-1} class={connection.lost === undefined ? '' : 'stale'}>
        {isLocked ? <Locked /> : <View route={route} />}
      </main>
      <nav id="tabs" aria-label="Views, below">
        {nav(true)}
      </nav>
      {layer === 'help' && <Help close={() => setLayer(undefined)} />}
      {layer === 'palette' && (
        <Palette
          views={views}
          actions={[
            { name: isPaused ? 'Go live' : 'Pause', key: 'p', run: togglePause },
            { name: isDark(theme) ? 'Light colors' : 'Dark colors', key: 't', run: toggleTheme },
            { name: 'Keys', key: '?', run: openHelp },
          ]}
          close={() => setLayer((now) => (now === 'palette' ? undefined : now))}
        />
      )}
    </>
  );
}

const LOST = { server: 'Server lost', database: 'Database lost' } as const;

function liveIcon({ lost }: PageConnection, isPaused: boolean) {
  if (lost !== undefined) return <Icon name="failed" />;
  return isPaused ? <Icon name="pause" class="" /> : <span class="dot" />;
}

/** Says that nothing below is new, and of when it is. */
function Lost({ connection: { lost, why, asOfMs } }: { connection: PageConnection }) {
  if (lost === undefined) return null;
  return (
    <p class="lostbar" role="alert">
      <Icon name="failed" />
      <span>
        <b>
          {lost === 'server' ? 'The server of this page does not answer.' : 'The database does not answer.'}
        </b>{' '}
        What is shown is of <Time ms={asOfMs} />. It is tried again every second.
        {why !== '' && <span class="sub"> {why}</span>}
      </span>
    </p>
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
    case 'start':
      return (
        <>
          <h1 class="vh">Start</h1>
          <Start />
        </>
      );
    case 'waiting':
      return <WaitingView route={route} />;
    case 'compare':
      return <Compare route={route} />;
    default:
      return <Runs route={route} />;
  }
}

function isMac(): boolean {
  return /Mac|iPhone|iPad/u.test(navigator.userAgent);
}

void openSession().then(() => {
  startLive();
  keepScroll();
  const root = document.getElementById('app');
  if (root !== null) render(<App />, root);
});
