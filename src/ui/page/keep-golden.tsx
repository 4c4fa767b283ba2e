import { useState } from 'preact/hooks';
import { post, saveFile } from './data.ts';
import { type ApiError, CopyButton } from './parts.tsx';
import { link } from './route.ts';

interface Kept {
  readonly name: string;
  readonly file: string;
  readonly isNew: boolean;
  readonly description?: string;
}

/** Makes a golden of the run, or says why it cannot be one. */
export function KeepGolden({ run }: { run: string }) {
  const [state, setState] = useState<'' | 'busy' | Kept | ApiError>('');
  const keep = async () => {
    setState('busy');
    setState(await post<Kept>(`/api/runs/${run}/golden`, {}).catch((error: ApiError) => error));
  };
  const save = (name: string) =>
    saveFile(`/api/goldens/file?name=${encodeURIComponent(name)}`, `${name.split('/').at(-1)}.json`).catch(
      (error: ApiError) => setState(error),
    );
  const command = `npx mcp-observatory golden from-trace ${run}`;
  return (
    <>
      <button type="button" class="btn" disabled={state === 'busy'} onClick={() => void keep()}>
        {state === 'busy' ? 'Keeping' : 'Keep as golden'}
      </button>
      {typeof state === 'object' && (
        <span class="kept" role="status">
          {'file' in state ? (
            <>
              {state.isNew ? 'Kept as' : 'It was kept before as'} <code>{state.file}</code>.{' '}
              {state.description}{' '}
              <button type="button" class="btn" onClick={() => void save(state.name)}>
                Download
              </button>{' '}
              <a href={link('compare', { kind: 'golden', a: state.name, b: run })}>Compare with it</a>
            </>
          ) : (
            <>
              {state.message} In the shell: <code>{command}</code>
              <CopyButton text={command} label="Copy the command" />
            </>
          )}
        </span>
      )}
    </>
  );
}
