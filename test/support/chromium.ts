/** A real browser, driven over a pipe by the Chrome DevTools Protocol. No package is needed for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

const CANDIDATES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].filter((path): path is string => path !== undefined && path !== '');

/** Why no browser can be had here, for `skip`; false when one can. */
export function noChromium(): string | false {
  return browserPath() === undefined ? 'no Chromium is installed (Debian: apt-get install chromium)' : false;
}

function browserPath(): string | undefined {
  return CANDIDATES.find((path) => existsSync(path));
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly message: string };
}

/** What a page did while it was open. */
export interface Visit {
  /** Every request, the page's own first. */
  readonly requests: readonly string[];
  /** Violations of the page's policy, script errors and the like. */
  readonly complaints: readonly string[];
  /** Runs an expression in the page and gives its value. */
  evaluate(expression: string): Promise<unknown>;
  /** Goes to another address. */
  open(url: string): Promise<void>;
  /** Sets the size of the window, and the colors that the reader prefers. */
  show(width: number, height: number, colors?: 'light' | 'dark'): Promise<void>;
  /** A picture of the window, PNG. */
  screenshot(): Promise<Buffer>;
  /** Types a key, e.g. `Enter` or `j`, as a person would. */
  press(key: string, isControl?: boolean): Promise<void>;
  /** Opens another tab, and gives what runs an expression in it. */
  openTab(url: string): Promise<Visit['evaluate']>;
}

/** Opens a page and gives it to `look` when it has loaded; the browser is gone afterwards. */
export async function visit(url: string, look: (visit: Visit) => Promise<void>): Promise<void> {
  const profile = await mkdtemp(join(tmpdir(), 'chromium-'));
  const browser = spawn(
    browserPath() ?? 'chromium',
    [
      '--headless=new',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      '--disable-dev-shm-usage',
      '--no-first-run',
      '--disable-background-networking',
      '--remote-debugging-pipe',
      `--user-data-dir=${profile}`,
      'about:blank',
    ],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
  );
  const gone = new Promise<void>((resolve) => browser.once('exit', () => resolve()));
  try {
    await lookAt(new Devtools(browser), url, look);
  } finally {
    browser.kill('SIGKILL');
    await gone;
    await rm(profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

async function lookAt(devtools: Devtools, url: string, look: (visit: Visit) => Promise<void>): Promise<void> {
  const { targetId } = await devtools.send('Target.createTarget', { url: 'about:blank' });
  const attached = await devtools.send('Target.attachToTarget', { targetId, flatten: true });
  const session = String(attached.sessionId);
  const requests: string[] = [];
  const complaints: string[] = [];
  const loaded = new Promise<void>((resolve) => {
    devtools.onEvent = ({ method, params }) => {
      if (method === 'Network.requestWillBeSent') {
        requests.push(String((params?.request as { url?: unknown } | undefined)?.url));
      } else if (
        method === 'Log.entryAdded' ||
        method === 'Runtime.exceptionThrown' ||
        (method === 'Runtime.consoleAPICalled' && params?.type === 'error')
      ) {
        complaints.push(JSON.stringify(params));
      } else if (method === 'Page.loadEventFired') resolve();
    };
  });
  for (const domain of ['Network', 'Log', 'Runtime', 'Page'])
    await devtools.send(`${domain}.enable`, {}, session);
  await devtools.send('Page.navigate', { url }, session);
  await loaded;
  const send = (method: string, params: object) => devtools.send(method, params, session);
  const evaluateIn = async (tab: string, expression: string) => {
    const how = { expression, returnByValue: true, awaitPromise: true };
    const { result } = await devtools.send('Runtime.evaluate', how, tab);
    return (result as { value?: unknown }).value;
  };
  await look({
    requests,
    complaints,
    evaluate: (expression) => evaluateIn(session, expression),
    openTab: async (address) => {
      const made = await devtools.send('Target.createTarget', { url: address });
      const tab = await devtools.send('Target.attachToTarget', { targetId: made.targetId, flatten: true });
      return (expression) => evaluateIn(String(tab.sessionId), expression);
    },
    open: async (address) => {
      await send('Page.navigate', { url: address });
    },
    show: async (width, height, colors = 'light') => {
      const screen = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
      await send('Emulation.setDeviceMetricsOverride', screen);
      const features = [{ name: 'prefers-color-scheme', value: colors }];
      await send('Emulation.setEmulatedMedia', { features });
    },
    screenshot: async () => {
      const { data } = await send('Page.captureScreenshot', { format: 'png' });
      return Buffer.from(String(data), 'base64');
    },
    press: async (key, isControl = false) => {
      const text = isControl
        ? { modifiers: 2 }
        : key.length === 1
          ? { text: key }
          : key === 'Enter'
            ? { text: '\r' }
            : {};
      const windowsVirtualKeyCode =
        key === 'Enter' ? 13 : key === 'Escape' ? 27 : key.toUpperCase().charCodeAt(0);
      const common = { key, windowsVirtualKeyCode, ...text };
      await send('Input.dispatchKeyEvent', { type: 'keyDown', ...common });
      await send('Input.dispatchKeyEvent', { type: 'keyUp', ...common });
    },
  });
}

/** The protocol: JSON with a zero byte after each message, on the child's fourth and fifth stream. */
class Devtools {
  onEvent: (message: Message) => void = () => undefined;
  readonly #out: Writable;
  readonly #waiting = new Map<
    number,
    { resolve: (result: NonNullable<Message['result']>) => void; reject: (error: Error) => void }
  >();
  #lastId = 0;
  #rest = '';

  constructor(browser: ChildProcess) {
    const [, , , out, into] = browser.stdio;
    this.#out = out as Writable;
    (into as Readable).setEncoding('utf8').on('data', (chunk: string) => this.#take(chunk));
    browser.once('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('The browser has gone'));
    });
  }

  send(method: string, params: object, sessionId?: string): Promise<NonNullable<Message['result']>> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#out.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  #take(chunk: string): void {
    const pieces = (this.#rest + chunk).split('\0');
    this.#rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      const message = JSON.parse(piece) as Message;
      const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id);
      if (waiting === undefined) this.onEvent(message);
      else if (message.error === undefined) waiting.resolve(message.result ?? {});
      else waiting.reject(new Error(message.error.message));
    }
  }
}
