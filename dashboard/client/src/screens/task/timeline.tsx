import { type ReactNode, useMemo, useState } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { TaskDetail } from '../../../../src/base/wire.ts';
import { taskPath } from '../../base/api.ts';
import type { Heard } from '../../base/conversation.ts';
import { useSession } from '../../base/place.ts';
import { changesBySnapshot, noteOf, type Since, type Turn } from '../../base/talk.ts';
import { ago } from '../../base/text.ts';
import { Empty } from '../../parts/bits.tsx';
import { fileOf } from '../../parts/diff.ts';
import { DiffFiles } from '../../parts/diffView.tsx';
import { plain } from '../../parts/output.tsx';
import { GoBack, UndoView } from './undo.tsx';

interface Item {
  readonly at: string;
  readonly key: string;
  readonly kind: 'event' | 'snapshot' | 'decision' | 'note' | 'refusal';
  readonly title: string;
  readonly text: string;
  readonly bad?: boolean;
  /** Of a snapshot that was taken: seq of its record, and its id. */
  readonly taken?: number;
  readonly id?: string;
}

const nothing: Since = { from: undefined, edits: [], commands: [] };

/** Returns the entries of a turn in the story of the task: no replies, no observations. */
function itemOf(turn: Turn): readonly Item[] {
  const { at, seq } = turn;
  const key = String(seq);
  switch (turn.type) {
    case 'Snapshot':
      return [{ at, key, kind: 'snapshot', title: `Snapshot ${turn.id}`, text: turn.label, taken: seq, id: turn.id }];
    case 'Restored':
      return [
        {
          at,
          key,
          kind: 'snapshot',
          title: `Restored ${turn.id}`,
          text: turn.verified ? 'verified by its hash' : 'NOT verified',
          bad: !turn.verified,
        },
      ];
    case 'Rewound':
      return [{ at, key, kind: 'snapshot', title: `Back to step ${turn.toStep}`, text: 'what came after it was taken back' }];
    case 'Decision':
      return [
        {
          at,
          key,
          kind: 'decision',
          title: `${turn.decision} by ${turn.requester ?? 'nobody in time'}`,
          text: turn.summary,
          bad: turn.decision === 'Rejected',
        },
      ];
    case 'Note': {
      if (turn.kind === 'Tried') return [];
      return [{ at, key, kind: 'note', ...noteOf(turn) }];
    }
    case 'Assistant':
      return turn.done.flatMap(({ id, name, observation }) =>
        observation?.refused === undefined
          ? []
          : [
              {
                at: observation.at,
                key: `${seq} ${id}`,
                kind: 'refusal' as const,
                title: `${name} refused by ${observation.refused}`,
                text: observation.text.split('\n')[0] ?? '',
                bad: true,
              },
            ],
      );
    case 'Began':
    case 'Observation':
    case 'User':
    default:
      return [];
  }
}

/** Shows the effects of going back to snapshot 0, where its bundle is stored. */
function Undo({ task: { metadata, status } }: { readonly task: AgentTask }): ReactNode {
  const { namespace = '', name } = metadata;
  const [open, setOpen] = useState(false);
  const stored = status?.run?.artifacts?.some((artifact) => artifact.name === 'revert.tar') === true;
  if (!stored) return <p className="muted small">“Cancel and restore” puts the workspace back to here.</p>;
  return (
    <>
      <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        What undoing back to here would do
      </button>
      {open && <UndoView path={taskPath(namespace, name, '/undo')} />}
    </>
  );
}

/** Shows the changes since the snapshot before. */
function Change({ since: { from, edits, commands } }: { readonly since: Since }): ReactNode {
  const [open, setOpen] = useState(false);
  if (from === undefined) return null;
  if (edits.length + commands.length === 0) return null;
  return (
    <>
      <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        What changed since {plain(from)}
      </button>
      {open && (
        <>
          {edits.length > 0 && <DiffFiles files={edits.map(fileOf)} note=", as it was edited" />}
          {commands.length > 0 && (
            <>
              <p className="muted small">Commands that ran; what they changed shows in their output and in the change at the end.</p>
              <ul className="plain-list">
                {commands.slice(0, 50).map((command, at) => (
                  <li key={at}>
                    <code>{plain(command.slice(0, 300))}</code>
                  </li>
                ))}
              </ul>
              {commands.length > 50 && <p className="muted">and {commands.length - 50} more, in the conversation</p>}
            </>
          )}
        </>
      )}
    </>
  );
}

/** Events of the cluster and marks of the event log, newest first. */
export function TimelineTab({
  detail,
  heard,
  now,
}: {
  readonly detail: TaskDetail;
  readonly heard: Heard;
  readonly now: number;
}): ReactNode {
  const events = detail.events.map(({ at, reason, note, type, count }, index): Item => ({
    at,
    key: `event ${index}`,
    kind: 'event',
    title: `${reason}${count > 1 ? ` ×${count}` : ''}`,
    text: note,
    bad: type === 'Warning',
  }));
  // Of one moment, what was recorded last comes first, as of all.
  const all = [...events, ...heard.turns.flatMap(itemOf)].reverse().sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  const changes = useMemo(() => changesBySnapshot(heard.turns), [heard.turns]);
  const { status } = detail.task;
  const initial = status?.run?.snapshots?.initial;
  const { readOnly } = useSession();
  // Only a model that is talked to hears of it.
  const goesOn = !readOnly && status?.finished !== 'true' && heard.turns.some(({ type }) => type === 'Began');
  const most = 500;
  return (
    <>
      {detail.notes.map((note) => (
        <p key={note} className="notice wait">
          {note}
        </p>
      ))}
      {all.length === 0 && <Empty title="Nothing has happened yet" />}
      <ol className="timeline">
        {all.slice(0, most).map(({ at, key, kind, title, text, bad, taken, id }) => (
          <li key={key} className={`${kind} ${bad === true ? 'bad' : ''}`}>
            <time dateTime={at} title={at} className="muted small">
              {ago(Date.parse(at), now)} ago
            </time>
            <div>
              <strong>{plain(title)}</strong>
              <p className="muted">{plain(text)}</p>
              {taken !== undefined && <Change since={changes.get(taken) ?? nothing} />}
              {id !== undefined && id === initial && <Undo task={detail.task} />}
              {goesOn && id !== undefined && (id === initial || text.startsWith('step ')) && (
                <GoBack task={detail.task} snapshot={id} turns={heard.turns} />
              )}
            </div>
          </li>
        ))}
      </ol>
      {all.length > most && <p className="muted">{all.length - most} older ones are in the log (Artifacts).</p>}
    </>
  );
}
