import { type ReactNode, useState } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import { useAct } from '../../base/hooks.ts';
import { send, taskPath } from '../../base/api.ts';
import { tones } from '../../base/fleet.ts';
import { useSession } from '../../base/place.ts';
import { ago, longestWords } from '../../base/text.ts';
import { Badge, Confirm, Trouble } from '../../parts/bits.tsx';
import { plain } from '../../parts/output.tsx';
import { CancelView, UndoDialog } from './undo.tsx';

type Dialog = 'Cancel' | 'Terminate' | 'Suspend' | 'Message' | 'Undo';

function Ask(props: {
  readonly task: AgentTask;
  readonly dialog: Dialog;
  readonly onClose: () => void;
  readonly doing: Pick<ReturnType<typeof useAct>, 'act' | 'busy' | 'error'>;
}): ReactNode {
  const { namespace = '', name } = props.task.metadata;
  const { act, busy, error } = props.doing;
  const [text, setText] = useState('');
  const patch = (body: object, said: string): void => act(() => send('PATCH', taskPath(namespace, name), body), said);
  const order = (body: object, said: string): void => act(() => send('POST', taskPath(namespace, name, '/orders'), body), said);
  // It stays until the API server has taken the order, and what was written in it with it.
  const common = { onNo: props.onClose, disabled: busy, error };
  switch (props.dialog) {
    case 'Suspend':
      return (
        <Confirm
          title={`Suspend ${name}?`}
          action="Suspend"
          onYes={() => patch({ suspend: true }, 'It stops after its current step.')}
          {...common}
        >
          It waits after its current step with a durable copy of all there is, and its clocks stop. Resume it whenever you like.
        </Confirm>
      );
    case 'Message':
      return (
        <Confirm
          title="A message for the model"
          action="Send"
          onYes={() => order({ type: 'Message', message: text }, 'The model gets it at its next step.')}
          {...common}
        >
          <label htmlFor="message">It reads this at its next step.</label>
          <textarea
            id="message"
            rows={4}
            maxLength={longestWords}
            value={text}
            onChange={({ target }) => setText(target.value)}
            autoFocus
          />
        </Confirm>
      );
    case 'Cancel':
      return (
        <Confirm
          title={`Cancel ${name} and restore?`}
          action="Cancel and restore"
          danger
          onYes={() => order({ type: 'Cancel', reason: text }, 'It is cancelled, and snapshot 0 is restored.')}
          {...common}
        >
          <p>
            The agent stops, and the workspace becomes what it was at snapshot 0, verified by its hash. What left the sandbox stays outside.
          </p>
          <CancelView task={props.task} />
          <label htmlFor="reason">Why, for the record</label>
          <input id="reason" maxLength={longestWords} value={text} onChange={({ target }) => setText(target.value)} />
        </Confirm>
      );
    case 'Terminate':
      return (
        <Confirm
          title={`Terminate ${name}?`}
          action="Delete the sandbox"
          danger
          onYes={() => patch({ cancel: 'Terminate' }, 'It ends at once.')}
          {...common}
        >
          It ends at once, and its sandbox is deleted. Nothing is restored and nothing more is stored.
        </Confirm>
      );
    case 'Undo':
    default:
      return <UndoDialog task={props.task} onClose={props.onClose} />;
  }
}

/** Goal, phase, and what can be done about the task as a whole. */
export function Head({ task, now, onDone }: { readonly task: AgentTask; readonly now: number; readonly onDone: () => void }): ReactNode {
  const { readOnly } = useSession();
  const { metadata, spec, status } = task;
  const { namespace = '', name } = metadata;
  const [dialog, setDialog] = useState<Dialog>();
  const close = (): void => setDialog(undefined);
  const { busy, error, said, act, clear } = useAct(() => {
    close();
    onDone();
  });
  const [whole, setWhole] = useState(false);
  const phase = status?.phase ?? 'Pending';
  const over = status?.finished === 'true';
  const goal = plain(spec.goal.trim());
  const long = goal.length > 280 || goal.split('\n').length > 3;
  const button = (to: Dialog, text: string, className = ''): ReactNode => (
    <button
      type="button"
      className={className}
      disabled={busy}
      onClick={() => {
        clear();
        setDialog(to);
      }}
    >
      {text}
    </button>
  );
  return (
    <header className="task-head">
      <div className="row">
        <h1>{name}</h1>
        <Badge tone={tones[phase]}>{phase}</Badge>
        <span className="muted small">created {ago(Date.parse(metadata.creationTimestamp ?? ''), now)} ago</span>
        <span className="grow" />
        <div className="buttons" role="group" aria-label="What can be done">
          {!over && !readOnly && button('Message', 'Message')}
          {!over &&
            !readOnly &&
            (spec.suspend ? (
              <button
                type="button"
                disabled={busy}
                onClick={() => act(() => send('PATCH', taskPath(namespace, name), { suspend: false }), 'It goes on.')}
              >
                Resume
              </button>
            ) : (
              button('Suspend', 'Suspend')
            ))}
          {!over && !readOnly && button('Cancel', 'Cancel and restore …')}
          {!over && !readOnly && button('Terminate', 'Terminate …', 'danger')}
          {over &&
            status.run?.rollback?.verified !== true &&
            status.run?.artifacts?.some(({ name }) => name === 'revert.tar') === true &&
            button('Undo', 'Undo …')}
        </div>
      </div>
      <p className={`goal-text ${long && !whole ? 'cut' : ''}`}>{goal}</p>
      {long && (
        <button type="button" className="link" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? 'Less of the goal' : 'The whole goal'}
        </button>
      )}
      <div aria-live="polite">
        {said !== '' && <p className="notice good">{said}</p>}
        {error !== undefined && dialog === undefined && <Trouble what="That did not work:" error={error} />}
      </div>
      {dialog !== undefined && <Ask task={task} dialog={dialog} doing={{ act, busy, error }} onClose={close} />}
    </header>
  );
}
