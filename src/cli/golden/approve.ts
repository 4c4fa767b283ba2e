import { approveGolden } from '../../golden/index.ts';
import { type Command, EXIT_OK, print, readFlags, usageError } from '../command-line/index.ts';

const HELP = `Usage: mcp-observatory golden approve FILE... --by NAME [--note TEXT]

Writes into goldens that a person has looked at them ('golden inspect') and found them right. Any change of a golden
after that voids its approval. 'golden list --unreviewed' shows those without one.

  --by NAME    who approves
  --note TEXT  what to know about it
  --json       one JSON object per golden {path, by, at, sha256}`;

/** `mcp-observatory golden approve`: a person vouches for goldens. */
export const goldenApproveCommand: Command = {
  help: HELP,
  async run(args, io) {
    const options = { by: { type: 'string' }, note: { type: 'string' }, json: { type: 'boolean' } } as const;
    const { values, positionals } = readFlags(args, options, true);
    const { by, note } = values;
    if (positionals.length === 0) throw usageError('Expected a golden');
    if (by === undefined || by.trim() === '') throw usageError('Expected --by NAME');
    for (const path of positionals) {
      const { approval } = await approveGolden(path, { by, note });
      if (values.json === true) print(io, { path, ...approval });
      else io.stdout.writeLine(`${path}: approved by ${approval?.by ?? by}`);
    }
    return EXIT_OK;
  },
};
