import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../../base/index.ts';
import {
  importExchanges,
  type RecordedExchange,
  readRecordedExchange,
  writeGolden,
} from '../../golden/index.ts';
import { type Command, EXIT_FAILED, EXIT_OK, print, readFlags, usageError } from '../command-line/index.ts';

const HELP = `Usage: mcp-observatory golden import FILE... --out DIR [options]

Makes goldens of recorded exchanges with model providers: one for each conversation with tool calls, in DIR/PROVIDER.

Each line of a FILE is a JSON object {provider, conversation_id, thread?, turn?, model?, recorded_at?, licence?,
source_repo?, source_path?, commit?, request {method?, path, body}, response {status, headers?, body | sse}}.
Dates, models and tokens are those of the recording, durations are unknown. Look at the licence of the recordings before
you add the goldens to a repository.

  --out DIR   folder to write to
  --all       conversations without tool calls too
  --json      one JSON object {written, refused}

Exit codes: 0 imported, 1 a line could not be, 2 bad usage or a file that cannot be read.`;

/** `mcp-observatory golden import`: goldens of recorded exchanges. */
export const goldenImportCommand: Command = {
  help: HELP,
  async run(args, io) {
    const options = { out: { type: 'string' }, all: { type: 'boolean' }, json: { type: 'boolean' } } as const;
    const { values, positionals } = readFlags(args, options, true);
    if (values.out === undefined) throw usageError('Expected --out DIR');
    if (positionals.length === 0) throw usageError('Expected a file of recorded exchanges');
    const exchanges: RecordedExchange[] = [];
    const refused: { file: string; line: number; message: string }[] = [];
    for (const file of positionals) {
      const text = await readFile(file, 'utf8').catch((cause: Error) => {
        throw usageError(`Cannot read '${file}': ${cause.message}`, cause);
      });
      for (const [index, line] of text.split('\n').entries()) {
        if (line.trim() === '') continue;
        try {
          exchanges.push(readRecordedExchange(JSON.parse(line)));
        } catch (error) {
          refused.push({ file, line: index + 1, message: errorMessage(error) });
        }
      }
    }
    const written: {
      path: string;
      recorded_at: string | null;
      models: readonly string[];
      exchanges: number;
    }[] = [];
    for (const golden of await importExchanges(exchanges, { all: values.all })) {
      const path = join(values.out, safe(golden.input.provider), `${safe(golden.test_name)}.json`);
      await writeGolden(path, golden);
      const { recorded_at, versions, provider_responses } = golden;
      written.push({ path, recorded_at, models: versions.models, exchanges: provider_responses.length });
    }
    if (values.json === true) print(io, { written, refused });
    else {
      for (const { path, recorded_at: date, models } of written) {
        io.stdout.writeLine(`${path}  ${models.join(', ')}  ${date ?? 'date unknown'}`);
      }
      for (const { file, line, message } of refused) io.stderr.writeLine(`${file}:${line}: ${message}`);
    }
    return refused.length === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

/** A name that stays in its folder. */
function safe(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 120);
}
