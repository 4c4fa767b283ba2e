import type { Writable } from 'node:stream';

/** SGR codes that switch a style on and off. On Node 20, `styleText` of node:util checks the wrong stream. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** Styles text, or returns it unchanged. */
export type Paint = (style: Style, text: string) => string;

/** Colors only on a terminal; `NO_COLOR` (any value but empty) turns them off, see https://no-color.org. */
export function paintFor(stream: Writable, env: Readonly<Record<string, string | undefined>>): Paint {
  const isTty = 'isTTY' in stream && stream.isTTY === true;
  const colors = isTty && !env.NO_COLOR && env.TERM !== 'dumb';
  if (!colors) return (_style, text) => text;
  return (style, text) => `\u001b[${STYLES[style][0]}m${text}\u001b[${STYLES[style][1]}m`;
}

/** Progress on stderr: one line rewritten in place on a terminal, one line per step elsewhere. */
export interface Progress {
  step(text: string): void;
  done(): void;
}

export function progressOn(stream: Writable): Progress {
  const isTty = 'isTTY' in stream && stream.isTTY === true;
  return {
    step: (text) => {
      stream.write(isTty ? `\r\u001b[2K${text} ...` : `${text} ...\n`);
    },
    done: () => {
      if (isTty) stream.write('\r\u001b[2K');
    },
  };
}
