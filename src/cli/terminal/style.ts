import type { Writable } from 'node:stream';

/** SGR codes that switch a style on and off. `styleText` of node:util looks at the wrong stream on Node 20. */
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** Paints text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** Colors only on a terminal; `NO_COLOR` (any value but empty) turns them off, see https://no-color.org. */
export function paintFor(stream: Writable, env: Readonly<Record<string, string | undefined>>): Paint {
  const isTty = 'isTTY' in stream && stream.isTTY === true;
  const colors = isTty && !env.NO_COLOR && env.TERM !== 'dumb';
  if (!colors) return (_style, text) => text;
  return (style, text) => `\u001b[${STYLES[style][0]}m${text}\u001b[${STYLES[style][1]}m`;
}

/** One line of progress on stderr, rewritten in place on a terminal, one line a step elsewhere. */
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
