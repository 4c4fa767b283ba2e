import { inspectGolden } from '../../golden/index.ts';
import { type Command, EXIT_OK, numberFlag, print, readFlags, usageError } from '../command-line/index.ts';
import { formatStory, storyToWire, tellStory } from './inspect/index.ts';

const HELP = `Usage: mcp-observatory golden inspect FILE [options]

Shows a golden step by step: input, answers and calls of the model, results of the tools, tokens, cost at list price,
time, and failures.

  --full     all of every text, not only its first lines
  --json     the same as one JSON object
  --width N  columns to write in (default: those of the terminal, else 100)

The page of \`up\` shows the same in a browser.

A golden that was edited by hand or has expired is shown with a warning. Costs are computed from the tokens that the
provider reported; nothing is estimated.`;

const DEFAULT_WIDTH = 100;

/** `golden inspect`: shows one golden step by step. */
export const goldenInspectCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const options = {
      full: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      width: { type: 'string' },
    } as const;
    const { values, positionals } = readFlags(args, options, true);
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) {
      throw usageError(`Expected one golden, got ${positionals.length} files`);
    }
    const { golden, problems } = await inspectGolden(file);
    const story = tellStory(golden, problems);
    const width =
      numberFlag('--width', values.width, { from: 40, to: 10_000, whole: true }) ??
      io.stdout.columns ??
      DEFAULT_WIDTH;
    const view = { paint: io.stdout.paint, width, full: values.full, now: new Date() };
    print(io, values.json ? storyToWire(story) : formatStory(story, view));
    return EXIT_OK;
  },
};
