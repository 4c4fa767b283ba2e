import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ObservatoryError } from '../../base/index.ts';
import { inspectGolden } from '../../golden/index.ts';
import { type Command, type CommandIo, EXIT_OK } from '../command-line/index.ts';
import { paintFor } from '../terminal/index.ts';
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
  name: 'inspect',
  summary: 'show a golden step by step',
  help: HELP,
  run: async (args, io) => {
    const { values, positionals } = parseArgs({
      args: [...withHtmlValue(args)],
      allowPositionals: true,
      options: {
        full: { type: 'boolean', default: false },
        html: { type: 'string' },
        json: { type: 'boolean', default: false },
        width: { type: 'string' },
      },
    });
    const [file, ...more] = positionals;
    if (file === undefined || more.length > 0) {
      throw new ObservatoryError('INVALID_OPTION', `Expected one golden, got ${positionals.length} files`);
    }
    const { golden, problems } = await inspectGolden(file);
    const story = tellStory(golden, problems);
    if (values.html !== undefined) return await writePage(file, values.html, storyPage(story), io);
    const text = values.json
      ? JSON.stringify(storyToWire(story))
      : formatStory(story, {
          paint: paintFor(io.stdout, io.env),
          width: widthOf(values.width, io),
          full: values.full,
          now: new Date(),
        });
    io.stdout.write(`${text}\n`);
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
  const file = resolve(given === '' ? `${baseName(golden)}.html` : given);
  try {
    await writeFile(file, page);
  } catch (cause) {
    throw new ObservatoryError(
      'INVALID_OPTION',
      `Cannot write --html '${file}': ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
  io.stdout.write(`${pathToFileURL(file).href}\n`);
  return EXIT_OK;
}

function baseName(file: string): string {
  const name = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1);
  return name.endsWith('.json') ? name.slice(0, -'.json'.length) : name;
}

function widthOf(given: string | undefined, io: CommandIo): number {
  if (given === undefined) {
    const columns = 'columns' in io.stdout ? Number(io.stdout.columns) : Number.NaN;
    return Number.isFinite(columns) && columns > 0 ? columns : DEFAULT_WIDTH;
  }
  const width = Number(given);
  if (Number.isSafeInteger(width) && width >= 40 && width <= 10_000) return width;
  throw new ObservatoryError(
    'INVALID_OPTION',
    `Expected --width to be a number from 40 to 10000, got '${given}'`,
  );
}
