/** Taking a task's change back: what it would do, and the order or the task that does it. */
import { dump } from 'js-yaml';
import { type ReactNode, useState } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import { useLocation } from 'wouter';
import type { UndoPlan } from '../../../../src/base/wire.ts';
import { get, send, taskPath } from '../../base/api.ts';
import { useAct, useLoad } from '../../base/hooks.ts';
import { useSession } from '../../base/place.ts';
import { useFleet } from '../../base/store.ts';
import { doneSince, type Turn } from '../../base/talk.ts';
import { longestWords } from '../../base/text.ts';
import { Confirm, Trouble } from '../../parts/bits.tsx';
import { filesOf, pathOf } from '../../parts/diff.ts';
import { plain } from '../../parts/output.tsx';

/** Characters of one argument, and of a goal, that the API takes; arguments that hold the patch. */
const argument = 8000;
const goalRoom = 3000;
const mostArguments = 40;

/** Reason for which no task can take it back; `cure` is what a person does instead. */
interface NoUndo {
  readonly why: string;
  readonly cure: string;
}

const inParts = (text: string): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / argument) }, (_, at) => text.slice(at * argument, (at + 1) * argument));

/** Returns the ref that holds the change of a task now: its own branch, else the one that it started from. */
function changedRef({ spec, status }: AgentTask): string {
  return status?.run?.output?.branch ?? (spec.workspace.type === 'Git' ? spec.workspace.git.ref : '');
}

/** Characters of a task's name that the API takes: it becomes the value of a label. */
const longestName = 63;

/** A name for the task that undoes another one: its own with -undo, cut to fit; with -undo-2 and so on while one is taken. */
export function undoName(name: string, isTaken: (name: string) => boolean): string {
  const named = (turn: number): string => {
    const end = turn === 1 ? '-undo' : `-undo-${turn}`;
    return `${name.slice(0, longestName - end.length).replace(/[-.]+$/, '')}${end}`;
  };
  let turn = 1;
  while (isTaken(named(turn))) turn += 1;
  return named(turn);
}

/**
 * A task on the branch where the change stands. Its check holds when the patch could be applied again, which is when all of it was
 * taken back; at snapshot 0 it does not hold, else there is nothing to undo.
 */
export function undoTask(
  { metadata, spec }: AgentTask,
  patch: string,
  as: { readonly name: string; readonly ref: string },
): object | NoUndo {
  const { name, namespace } = metadata;
  if (spec.workspace.type !== 'Git')
    return {
      why: 'This task began from files of its own and pushed nothing: its change stands in its artifacts alone',
      cure: 'Where you took the change into a folder, revert.tar takes it out of there again',
    };
  if (patch.trim() === '') return { why: 'This task changed no text', cure: 'Where you took the result into a folder, use revert.tar' };
  if (/^(?:GIT binary patch|Binary files )/m.test(patch))
    return { why: 'The change holds binary files, which a patch does not name', cure: 'Use revert.tar in a checkout' };
  const parts = inParts(patch);
  if (parts.length > mostArguments) return { why: 'The change is too long for a task', cure: 'Use revert.tar in a checkout' };
  const shown = patch.length <= goalRoom ? `\n\n${patch}` : ' It is the text that the check "taken-back" is given.';
  const { git } = spec.workspace;
  const { poolRef, profile, setup, policy, deadlineSeconds, sandbox, budget, output } = spec;
  const { branch: _, pullRequest, ...delivery } = output?.git ?? {};
  return {
    apiVersion: 'agentfleet.dev/v1alpha1',
    kind: 'AgentTask',
    metadata: { name: as.name, namespace },
    spec: {
      ...(poolRef !== undefined && { poolRef }),
      profile,
      goal: `Take back the change of task ${name}, and nothing else: apply this patch in reverse (git apply -R), by hand where it does not fit any more.${shown}`,
      workspace: { type: 'Git', git: { ...git, ref: as.ref } },
      // Steps may name hosts of the one and have times within the other.
      ...(setup !== undefined && { setup, policy: { network: policy.network }, deadlineSeconds }),
      checks: [
        {
          name: 'taken-back',
          command: ['sh', '-c', 'printf %s "$@" | git apply --check -', 'sh', ...parts],
          format: 'Exit',
          expect: 'FailThenPass',
        },
      ],
      budget,
      ...(sandbox !== undefined && { sandbox }),
      ...(output !== undefined && {
        output: { git: { ...delivery, ...(pullRequest !== undefined && { pullRequest: titled(pullRequest, name) }) } },
      }),
    },
  };
}

const titled = <T extends object>(pullRequest: T, name: string): T => ({ ...pullRequest, title: `Take back the change of ${name}` });

/** Effect of undoing on a path, by the change that the task made to it. */
const words: Readonly<Record<string, string>> = { A: 'remove', D: 'bring back', M: 'put back', T: 'replace' };
const ofFile: Readonly<Record<string, string>> = { add: 'remove', delete: 'bring back', rename: 'rename back', copy: 'remove' };

function Paths({ items }: { readonly items: readonly (readonly [what: string, path: string])[] }): ReactNode {
  const most = 200;
  return (
    <>
      <ul className="plain-list">
        {items.slice(0, most).map(([what, path]) => (
          <li key={`${what} ${path}`}>
            <span className="badge-text">{what}</span> <code>{plain(path)}</code>
          </li>
        ))}
      </ul>
      {items.length > most && <p className="muted">and {items.length - most} more</p>}
    </>
  );
}

/** Shows the effects of undoing, file by file; nothing is done. */
export function UndoView({ path }: { readonly path: string }): ReactNode {
  const { value, error } = useLoad<UndoPlan>(path, (signal) => get(path, signal));
  if (error !== undefined) return <Trouble what="There is no revert bundle to read:" error={error} />;
  if (value === undefined) return <p className="muted">Reading the revert bundle …</p>;
  const { ops, irreversible, external, neverReverted } = value;
  return (
    <>
      <p>
        From {plain(value.from)} back to {plain(value.to)}: {ops.length} {ops.length === 1 ? 'path' : 'paths'}.
      </p>
      <Paths items={ops.map(({ op, path }) => [words[op] ?? op, path])} />
      {irreversible.length + external.length > 0 && <h3>What cannot be undone</h3>}
      <ul className="plain-list">
        {irreversible.map(({ path, reason }) => (
          <li key={path}>
            <code>{plain(path)}</code> {plain(reason)}
          </li>
        ))}
        {external.map(({ target, state, why }) => (
          <li key={target}>
            <code>{plain(target)}</code> {plain(state)}: {plain(why)}
          </li>
        ))}
      </ul>
      {neverReverted.length > 0 && <p className="muted">Never reverted: {neverReverted.map(plain).join(', ')}</p>}
    </>
  );
}

/** Has all files of a task that runs put back as they were at a snapshot, and sends its model a message; shows before what that discards. */
export function GoBack({
  task,
  snapshot,
  turns,
}: {
  readonly task: AgentTask;
  readonly snapshot: string;
  readonly turns: readonly Turn[];
}): ReactNode {
  const { namespace = '', name } = task.metadata;
  const [open, setOpen] = useState(false);
  const [text, setText] = useState('');
  const { busy, error, said, act, clear } = useAct(() => setOpen(false));
  const lost = open ? doneSince(turns, snapshot) : undefined;
  const paths = [...new Set(lost?.edits.map(({ path }) => path))];
  const order = (): void => {
    const body = { type: 'Message', message: text.trim(), snapshot };
    act(() => send('POST', taskPath(namespace, name, '/orders'), body), 'The files are put back at the next step of the agent.');
  };
  return (
    <>
      <button
        type="button"
        className="link"
        disabled={busy}
        onClick={() => {
          clear();
          setOpen(true);
        }}
      >
        Go back to here …
      </button>
      <span role="status">{said !== '' && <span className="notice good">{said}</span>}</span>
      {open && (
        <Confirm
          title={`Put all files back to ${snapshot}?`}
          action="Put back"
          danger
          disabled={busy || text.trim() === ''}
          error={error}
          onYes={order}
          onNo={() => setOpen(false)}
        >
          <p>
            At its next step{task.spec.suspend ? ', once it is resumed,' : ''} the agent finds all files as they were at {plain(snapshot)}{' '}
            and reads your words. What commands did outside of the files stays.
          </p>
          {lost === undefined && <p>The agent has gone back behind this snapshot before: what was done since then is discarded.</p>}
          {lost !== undefined && paths.length + lost.commands.length === 0 && (
            <p className="muted">Nothing is known to have changed since.</p>
          )}
          <Paths items={paths.map((path) => ['put back', path])} />
          {lost !== undefined && lost.commands.length > 0 && (
            <>
              <p className="muted">And whatever files these commands changed:</p>
              <Paths items={lost.commands.map((command) => ['ran', command.slice(0, 200)])} />
            </>
          )}
          <label htmlFor="go-back">What the agent should do instead</label>
          <textarea
            id="go-back"
            rows={3}
            maxLength={longestWords}
            value={text}
            onChange={({ target }) => setText(target.value)}
            autoFocus
          />
        </Confirm>
      )}
    </>
  );
}

/** Shows the changes that cancelling a running task would take back, as far as its status reports them. */
export function CancelView({ task: { status } }: { readonly task: AgentTask }): ReactNode {
  const { patch, snapshots } = status?.run ?? {};
  const files = filesOf(patch ?? '');
  if (files.length === 0) return <p className="muted">It has reported no change of the workspace so far.</p>;
  return (
    <>
      <p>
        Back to snapshot {plain(snapshots?.initial ?? '0')}: {files.length} {files.length === 1 ? 'file' : 'files'} as of its last report.
      </p>
      <Paths items={files.map((file) => [ofFile[file.type] ?? 'put back', pathOf(file)])} />
    </>
  );
}

function ByHand({ task: { metadata } }: { readonly task: AgentTask }): ReactNode {
  const { namespace = '', name } = metadata;
  return (
    <p>
      In a folder of your own:{' '}
      <code>
        fleet undo {name} --namespace {namespace} --into FOLDER
      </code>
      , or unpack{' '}
      <a href={taskPath(namespace, name, '/artifacts/revert.tar')} download="revert.tar">
        revert.tar
      </a>{' '}
      and run <code>sh revert.sh --root workspace=FOLDER</code>, first with <code>--dry-run</code>.
    </p>
  );
}

/** Undoes a task that has ended: by a task that takes its change back where it was pushed to. */
export function UndoDialog({ task, onClose }: { readonly task: AgentTask; readonly onClose: () => void }): ReactNode {
  const { namespace = '', name } = task.metadata;
  const { readOnly } = useSession();
  const [, navigate] = useLocation();
  const { objects } = useFleet();
  const [ref, setRef] = useState(changedRef(task));
  const [as, setAs] = useState(() => undoName(name, (one) => objects.AgentTask.has(`${namespace}/${one}`)));
  const { busy, error, said, act } = useAct(() => undefined);
  const stored = taskPath(namespace, name, '/text/change.patch');
  const change = useLoad(stored, (signal) => get<{ readonly text: string }>(stored, signal));
  const made: object | NoUndo | undefined = change.value === undefined ? undefined : undoTask(task, change.value.text, { name: as, ref });
  const manifest = made !== undefined && !('why' in made) ? (made as { readonly metadata: { readonly name: string } }) : undefined;
  const yaml = manifest === undefined ? '' : dump(manifest, { lineWidth: 100, noRefs: true });
  const apply = (dryRun: boolean): void =>
    act(
      async () => {
        await send('POST', '/api/tasks', { yaml, dryRun });
        if (!dryRun && manifest !== undefined) navigate(`/tasks/${namespace}/${manifest.metadata.name}`);
      },
      dryRun ? 'The API server would take it.' : '',
    );
  const can = manifest !== undefined && !readOnly;
  return (
    <Confirm
      title={`Undo ${name}?`}
      action={can ? 'Start the undo' : 'Close'}
      onYes={() => (can ? apply(false) : onClose())}
      onNo={onClose}
      disabled={busy}
    >
      <UndoView path={taskPath(namespace, name, '/undo')} />
      {change.error !== undefined && <Trouble what="The change cannot be read:" error={change.error} />}
      {made !== undefined && 'why' in made && (
        <p className="notice wait">
          {(made as NoUndo).why}. {(made as NoUndo).cure}.
        </p>
      )}
      {readOnly && manifest !== undefined && <p className="muted">This dashboard is read-only: copy the task for kubectl.</p>}
      {manifest !== undefined && (
        <>
          <p>
            A task does it, in your name: an agent of the same pool takes the change back, a check proves that all of it is gone, and the
            result goes where that of {name} went. The pool needs a chat model.
          </p>
          <label htmlFor="undo-ref">Branch where the change stands now</label>
          <input id="undo-ref" value={ref} onChange={({ target }) => setRef(target.value)} />
          <label htmlFor="undo-name">Name of the task that does it</label>
          <input id="undo-name" maxLength={longestName} value={as} onChange={({ target }) => setAs(target.value)} />
          <details>
            <summary>What is applied</summary>
            <pre className="output" tabIndex={0} aria-label="Manifest of the undo">
              {yaml}
            </pre>
          </details>
          {!readOnly && (
            <div className="row">
              <button type="button" disabled={busy} onClick={() => apply(true)}>
                Try without applying
              </button>
              <span role="status">{said}</span>
            </div>
          )}
        </>
      )}
      {error !== undefined && <Trouble what="The API server refused it:" error={error} />}
      <ByHand task={task} />
    </Confirm>
  );
}
