import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writePrivateFile } from '../../base/index.ts';
import { inspectGolden } from '../../golden/index.ts';
import {
  type Command,
  type CommandIo,
  EXIT_OK,
  numberFlag,
  print,
  readFlags,
  usageError,
} from '../command-line/index.ts';
import { formatStory, storyPage, storyToWire, tellStory } from './inspect/index.ts';

const HELP = `Usage: mcp-observatory golden inspect FILE [options]

Shows a golden step by step: input, answers and calls of the model, results of the tools, tokens, cost at list price,
time, and failures.

  --full         all of every text, not only its first lines
  --html [FILE]  one self-contained page instead, without a script or a request (default FILE: the golden's name
                 with .html, in the current folder; - is stdout)
  --json         the same as one JSON object
  --width N      columns to write in (default: those of the terminal, else 100)

A golden that was edited by hand or has expired is shown with a warning. Costs are computed from the tokens that the
provider reported; nothing is estimated.`;

const DEFAULT_WIDTH = 100;

/** `golden inspect`: shows one golden step by step. */
export const goldenInspectCommand: Command = {
  help: HELP,
  run: async (args, io) => {
    const options = {
      full: { type: 'boolean', default: false },
      html: { type: 'string' },
      json: { type: 'boolean', default: false },
      width: { type: 'string' },
    } as const;
    const { values, positionals } = readFlags(withHtmlValue(args), options, true);
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) {
      throw usageError(`Expected one golden, got ${positionals.length} files`);
    }
    const { golden, problems } = await inspectGolden(file);
    const story = tellStory(golden, problems);
    if (values.html !== undefined) return await writePage(file, values.html, storyPage(story), io);
    const width =
      numberFlag('--width', values.width, { from: 40, to: 10_000, whole: true }) ??
      io.stdout.columns ??
      DEFAULT_WIDTH;
    const view = { paint: io.stdout.paint, width, full: values.full, now: new Date() };
    print(io, values.json ? storyToWire(story) : formatStory(story, view));
    return EXIT_OK;
  },
};

/** `--html` has an optional value, which parseArgs does not support. */
function withHtmlValue(args: readonly string[]): string[] {
  return args.flatMap((arg, index) => {
    if (arg !== '--html') return [arg];
    const next = args[index + 1];
    const hasValue = next === '-' || next?.endsWith('.html') === true;
    return hasValue ? [arg] : ['--html='];
  });
}

async function writePage(golden: string, given: string, page: string, io: CommandIo): Promise<number> {
  if (given === '-') {
    io.stdout.write(page);
    return EXIT_OK;
  }
  const file = resolve(given === '' ? `${basename(golden, '.json')}.html` : given);
  try {
    await writePrivateFile(file, page);
  } catch (cause) {
    throw usageError(`Cannot write --html '${file}': ${(cause as Error).message}`, cause);
  }
  print(io, pathToFileURL(file).href);
  return EXIT_OK;
}
