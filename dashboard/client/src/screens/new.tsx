/** A form for a task; what it will apply is beside it, as YAML and for kubectl. */
import { dump } from 'js-yaml';
import { type ReactNode, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { send } from '../base/api.ts';
import { useAct } from '../base/hooks.ts';
import { useSession } from '../base/place.ts';
import { useFleet } from '../base/store.ts';
import { Panel, Trouble } from '../parts/bits.tsx';

interface Draft {
  readonly name: string;
  readonly namespace: string;
  readonly pool: string;
  readonly goal: string;
  readonly url: string;
  readonly ref: string;
  readonly checks: string;
  readonly tokens: string;
  readonly cost: string;
  readonly minutes: string;
  readonly ask: boolean;
}

/** Words of a command as a shell would part them, without running one. */
export function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/"((?:\\.|[^"\\])*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double?.replaceAll(/\\(.)/g, '$1') ?? single ?? bare ?? '',
  );
}

/** The manifest of a draft; what is empty is left to the defaults. */
export function manifestOf({ name, namespace, pool, goal, url, ref, checks, tokens, cost, minutes, ask }: Draft): object {
  const budget = {
    ...(tokens !== '' && { tokens: Number(tokens) }),
    ...(cost !== '' && { cost }),
    ...(minutes !== '' && { wallSeconds: Number(minutes) * 60 }),
  };
  const [poolNamespace, poolName] = pool.split('/');
  const lines = checks.split('\n').filter((line) => line.trim() !== '');
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name, namespace },
    spec: {
      ...(poolName !== undefined && { poolRef: { name: poolName, ...(poolNamespace !== namespace && { namespace: poolNamespace }) } }),
      goal,
      workspace:
        url === ''
          ? { type: 'Inline', inline: { files: [{ path: 'README.md', content: 'An empty workspace.\n' }] } }
          : { type: 'Git', git: { url, ref: ref === '' ? 'main' : ref } },
      checks: lines.map((line, at) => ({ name: lines.length === 1 ? 'check' : `check-${at + 1}`, command: wordsOf(line) })),
      ...(Object.keys(budget).length > 0 && { budget }),
      ...(ask && { policy: { approvals: { require: ['Destructive', 'External'] } } }),
    },
  };
}

function Field(props: {
  readonly id: keyof Draft;
  readonly label: string;
  readonly hint?: string;
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly rows?: number;
  readonly required?: boolean;
  readonly type?: string;
}): ReactNode {
  const { id, label, hint, draft, set, rows, required, type } = props;
  const common = {
    id,
    value: String(draft[id]),
    ...(required === true && { required: true }),
    ...(hint !== undefined && { 'aria-describedby': `${id}-hint` }),
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {rows === undefined ? (
        <input {...common} {...(type !== undefined && { type })} onChange={({ target }) => set({ [id]: target.value })} />
      ) : (
        <textarea {...common} rows={rows} onChange={({ target }) => set({ [id]: target.value })} />
      )}
      {hint !== undefined && (
        <span className="muted small" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

function CopyButton({ text, children }: { readonly text: string; readonly children: ReactNode }): ReactNode {
  const [said, setSaid] = useState('');
  const copy = (): void => {
    // Without a secure connection browsers give pages no clipboard.
    const clipboard = window.isSecureContext ? navigator.clipboard.writeText(text) : Promise.reject(new Error('not secure'));
    clipboard.then(
      () => setSaid('Copied'),
      () => setSaid('Select it by hand: this browser allows no copying here'),
    );
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {children}
      </button>
      <span className="muted small" role="status">
        {said}
      </span>
    </>
  );
}

function Form(props: {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  readonly busy: boolean;
  readonly error: unknown;
  readonly said: string;
  readonly onApply: (dryRun: boolean) => void;
}): ReactNode {
  const { draft, set, busy, error, said } = props;
  const { readOnly } = useSession();
  const pools = [...useFleet().objects.ExpertPool.keys()].sort();
  const field = { draft, set };
  return (
    <form
      className="panel form"
      onSubmit={(event) => {
        event.preventDefault();
        props.onApply(false);
      }}
    >
      <Field id="goal" label="Goal" hint="What must become true, in words." rows={5} required {...field} />
      <div className="pair">
        <Field id="name" label="Name" required {...field} />
        <Field id="namespace" label="Namespace" required {...field} />
      </div>
      <div className="pair">
        <Field id="url" label="Git repository" hint="https://host/path; empty: an empty folder." {...field} />
        <Field id="ref" label="Branch, tag or commit" {...field} />
      </div>
      <Field
        id="checks"
        label="Checks"
        hint="A command a line. All of them have to pass at the end, in a fresh container."
        rows={3}
        required
        {...field}
      />
      <div className="field">
        <label htmlFor="pool">Pool</label>
        <select id="pool" value={draft.pool} onChange={({ target }) => set({ pool: target.value })}>
          <option value="">The default of the namespace</option>
          {pools.map((key) => (
            <option key={key}>{key}</option>
          ))}
        </select>
      </div>
      <div className="triple">
        <Field id="tokens" label="Tokens at most" type="number" {...field} />
        <Field id="cost" label="Cost at most" {...field} />
        <Field id="minutes" label="Minutes at most" type="number" {...field} />
      </div>
      <label className="check">
        <input type="checkbox" checked={draft.ask} onChange={({ target }) => set({ ask: target.checked })} />
        Ask me before what is destructive or leaves the sandbox
      </label>
      {error !== undefined && <Trouble what="The API server refused it:" error={error} />}
      {said !== '' && <p className="notice good">{said}</p>}
      <div className="buttons">
        <button type="submit" className="primary" disabled={busy || readOnly}>
          Apply
        </button>
        <button type="button" disabled={busy || readOnly} onClick={() => props.onApply(true)}>
          Try without applying
        </button>
      </div>
      {readOnly && <p className="muted">This dashboard is read-only: copy it for kubectl.</p>}
    </form>
  );
}

const empty = { name: '', pool: '', goal: '', url: '', ref: 'main', checks: '', tokens: '200000', cost: '', minutes: '30', ask: true };

export function NewTaskScreen(): ReactNode {
  const { namespace } = useSession();
  const { states } = useFleet();
  const followed = states.find(({ kind }) => kind === 'AgentTask')?.namespaces;
  const first = followed === undefined || followed === 'All' ? namespace : (followed[0] ?? namespace);
  const [draft, setDraft] = useState<Draft>({ ...empty, namespace: first });
  const [, navigate] = useLocation();
  const set = (change: Partial<Draft>): void => setDraft((before) => ({ ...before, ...change }));
  const yaml = useMemo(() => dump(manifestOf(draft), { lineWidth: 100, noRefs: true }), [draft]);
  const kubectl = `kubectl apply -f - <<'EOF'\n${yaml}EOF\n`;
  const { busy, error, said, act } = useAct(() => undefined);
  const apply = (dryRun: boolean): void =>
    act(
      async () => {
        await send('POST', '/api/tasks', { yaml, dryRun });
        if (!dryRun) navigate(`/tasks/${draft.namespace}/${draft.name}`);
      },
      dryRun ? 'The API server would take it.' : '',
    );
  return (
    <div className="stacked">
      <h1>New task</h1>
      <div className="grid-two">
        <Form draft={draft} set={set} busy={busy} error={error} said={said} onApply={apply} />
        <Panel title="What is applied">
          <pre className="output tall" tabIndex={0} aria-label="Manifest">
            {yaml}
          </pre>
          <div className="row copy">
            <CopyButton text={kubectl}>Copy as kubectl</CopyButton>
            <CopyButton text={yaml}>Copy YAML</CopyButton>
          </div>
        </Panel>
      </div>
    </div>
  );
}
