import type { WaitingDetail, WaitingRow } from '../../runs/index.ts';
import { DefinitionChange, Rest } from './changed.tsx';
import { CAPTURE } from './model-call.tsx';
import { CopyLines, Count, type Status, Tag, Time } from './parts.tsx';

type Definition = NonNullable<WaitingDetail['definition']>;

/** What is the matter with a tool that waits, as shape and word. */
export function ToolTag({ row: { reason } }: { row: WaitingRow }) {
  const [status, word] = TAGS[reason] ?? ['denied', 'quarantined'];
  return <Tag status={status}>{word}</Tag>;
}

const TAGS: Readonly<Record<string, readonly [Status, string]>> = {
  tool_changed: ['changed', 'changed'],
  tool_unapproved: ['held', 'not approved'],
};

/** Why a tool waits, and what becomes of its calls meanwhile. */
export function toolSentence({ message, definition }: WaitingDetail): string {
  if (definition === null) return 'What was decided about is not stored in a form that can be shown.';
  const { barred, seenBy } = definition;
  if (barred !== null) return `${message ?? barred}. The gate refuses its calls.`;
  if (seenBy === 'models') return 'Models were offered another definition of this tool than before.';
  return 'The definition of this tool changed, and the gate lets its calls through: the new one is pinned, or the gate has no pin file and took what it saw first.';
}

/** The facts of a tool, as rows of a list. */
export function ToolFacts({ of: { now, barred, seenBy } }: { of: Definition }) {
  return (
    <>
      <div class="kv">
        <dt>First seen</dt>
        <dd>
          <Time ms={now.firstMs} />
        </dd>
      </div>
      <div class="kv">
        <dt>Last seen</dt>
        <dd>
          <Time ms={now.lastMs} />
        </dd>
      </div>
      <div class="kv">
        <dt>{barred !== null ? 'Refused calls' : seenBy === 'gate' ? 'Calls' : 'Offered in'}</dt>
        <dd>
          <Count of={now.calls} /> {barred === null && seenBy === 'models' && 'model calls'}
        </dd>
      </div>
      {barred !== null && (
        <div class="kv">
          <dt>Reason</dt>
          <dd>
            <code>{barred}</code>
          </dd>
        </div>
      )}
    </>
  );
}

/** What changed, and what can be done about it where the gate is configured. */
export function ToolGrounds({ of: tool, isOpen, isApproved }: GroundsProps) {
  const { before, now } = tool;
  const isShown = now.text !== null && (before === null || before.text !== null);
  return (
    <>
      <h3>{tool.state === 'changed' ? 'What changed' : 'Definition'}</h3>
      {isShown && before !== null && <DefinitionChange before={before} after={now} />}
      {now.text !== null && (before === null || before.text === null) && (
        <>
          {tool.state === 'changed' && (
            <p class="dim">The definition before it is not stored. This is the new one:</p>
          )}
          <pre class="code whole">{now.text}</pre>
          <Rest of={now} />
        </>
      )}
      {now.text === null && now.hash === '' && <p class="dim">It has no hash, and is not stored.</p>}
      {now.text === null && now.hash !== '' && (
        <p class="dim">
          Only its hash is stored. Programs that run with <code>{CAPTURE}</code> send definitions too, and{' '}
          <code>--capture-content</code> keeps them here.
        </p>
      )}
      {now.text === null && tool.look !== null && (
        <>
          <p class="dim">This shows the whole difference, with the files that your gate uses:</p>
          <CopyLines text={tool.look} />
        </>
      )}
      <Remedy tool={tool} isOpen={isOpen} isApproved={isApproved} />
    </>
  );
}

interface GroundsProps {
  readonly of: Definition;
  readonly isOpen: boolean;
  readonly isApproved: boolean;
}

function Remedy({ tool, isOpen, isApproved }: Omit<GroundsProps, 'of'> & { tool: Definition }) {
  const { barred, state, approve, deny } = tool;
  if (barred === null) {
    if (!isOpen && isApproved) return null;
    return (
      <>
        <h3>To stop its calls</h3>
        <p class="dim">
          {isOpen
            ? 'Either decision is a record, and takes the tool from this list.'
            : 'The rejection is a record.'}{' '}
          This page changes no policy. {deny !== null && 'A rule of the policy denies the tool:'}
        </p>
        {deny !== null && <CopyLines text={deny} />}
      </>
    );
  }
  if (state === 'refused') {
    return (
      <p class="dim">
        It cannot be approved. It is let through when its server lists it otherwise, or lists it once.
      </p>
    );
  }
  if (!isOpen && !isApproved) return <p class="dim">The gate goes on refusing it.</p>;
  return (
    <>
      <h3>{isOpen ? 'To let it through' : 'The gate refuses it until it is pinned'}</h3>
      <p class="dim">
        A decision here is a record. A gate believes its pin file alone, which this page does not write.{' '}
        {approve === null
          ? 'Its name has characters that may mean something to a shell: the command above says what to approve.'
          : 'This pins exactly the definition that the gate refused, and nothing if the server lists another one by then; put in the files that your gate uses:'}
      </p>
      {approve !== null && <CopyLines text={approve} />}
    </>
  );
}
