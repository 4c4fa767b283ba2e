import type { Output } from './output.ts';

/** Progress on stderr: one line rewritten in place on a terminal, one line per step elsewhere. */
export interface Progress {
  step(text: string): void;
  done(): void;
}

export function progressOn(output: Output): Progress {
  return {
    step: (text) => {
      if (output.isTerminal) output.rewriteLine(`${text} ...`);
      else output.writeLine(`${text} ...`);
    },
    done: () => {
      if (output.isTerminal) output.rewriteLine('');
    },
  };
}
