/** The conversation as it grows: what the model said, what it called, what came of it, what was refused and why. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { Heard } from '../../base/conversation.ts';
import { type Call, gistOf, noteOf, type Reply, type Turn } from '../../base/talk.ts';
import { clock, money, short } from '../../base/text.ts';
import { Empty, Trouble } from '../../parts/bits.tsx';
import { Output, plain } from '../../parts/output.tsx';

function Clock({ at }: { readonly at: string }): ReactNode {
  return (
    <time className="muted small" dateTime={at} title={at}>
      {clock(at)}
    </time>
  );
}

function outcomeOf({ observation }: Call): { readonly text: string; readonly tone: string } {
  if (observation === undefined) return { text: 'running', tone: 'run' };
  if (observation.refused !== undefined) return { text: 'refused', tone: 'bad' };
  if (observation.notRun === true) return { text: 'not run', tone: 'idle' };
  return observation.ok ? { text: 'done', tone: 'good' } : { text: 'failed', tone: 'wait' };
}

/** Arguments as people read them: strings with their line breaks. */
function Arguments({ text }: { readonly text: string }): ReactNode {
  try {
    const fields = Object.entries(JSON.parse(text) as Readonly<Record<string, unknown>>);
    return fields.map(([name, value]) => (
      <div key={name} className="argument">
        <span className="muted">{plain(name)}</span>
        <Output text={typeof value === 'string' ? value : JSON.stringify(value, null, 2)} limit={4000} />
      </div>
    ));
  } catch {
    return <Output text={text} limit={4000} />;
  }
}

function CallView({ call }: { readonly call: Call }): ReactNode {
  const { observation } = call;
  const { text, tone } = outcomeOf(call);
  const refused = observation?.refused;
  return (
    <details className={`call ${tone}`} {...(refused === undefined ? {} : { open: true })}>
      <summary>
        <span className="tool">{plain(call.name)}</span>
        <code className="gist">{plain(gistOf(call).split('\n')[0] ?? '')}</code>
        <span className={`kind ${tone}`}>{text}</span>
      </summary>
      {refused !== undefined && (
        <p className="refusal">
          Refused by rule <strong>{plain(refused)}</strong>
        </p>
      )}
      {refused === undefined && <Arguments text={call.arguments} />}
      {observation !== undefined && <Output text={observation.text} limit={8000} />}
    </details>
  );
}

function ReplyView({ turn }: { readonly turn: Reply }): ReactNode {
  const { usage, costMicros, proposals } = turn;
  return (
    <div className="turn model">
      <div className="who">
        <strong>Model</strong> <span className="muted">step {turn.step}</span>
        {proposals > 1 && <span className="badge-text">chosen of {proposals}</span>}
        <span className="grow" />
        {usage !== undefined && (
          <span className="muted small">
            {short(usage.input)} in, {short(usage.output)} out{costMicros !== undefined && `, ${money(costMicros / 1e6)}`}
          </span>
        )}
        <Clock at={turn.at} />
      </div>
      {turn.text.trim() !== '' && <p className="said">{plain(turn.text.trim())}</p>}
      {turn.done.map((call, at) => (
        <CallView key={`${call.id} ${at}`} call={call} />
      ))}
    </div>
  );
}

function Simple(props: { readonly kind: string; readonly who: string; readonly at: string; readonly children?: ReactNode }): ReactNode {
  return (
    <div className={`turn ${props.kind}`}>
      <div className="who">
        <strong>{props.who}</strong>
        <span className="grow" />
        <Clock at={props.at} />
      </div>
      {props.children}
    </div>
  );
}

const origins = { Notice: 'Notice of the fleet', Person: 'A person', Summary: 'Summary of what came before' } as const;

function TurnView({ turn }: { readonly turn: Turn }): ReactNode {
  switch (turn.type) {
    case 'Assistant':
      return <ReplyView turn={turn} />;
    case 'Began':
      return (
        <Simple kind="began" who={`Conversation with ${plain(turn.expert)}`} at={turn.at}>
          <p className="said">{plain(turn.goal.trim())}</p>
          <details className="fold">
            <summary>System message, {turn.tools.length} tools</summary>
            <p className="muted">{turn.tools.map(plain).join(', ')}</p>
            <Output text={turn.system} />
          </details>
        </Simple>
      );
    case 'Observation':
      return (
        <Simple
          kind="user"
          who={`${plain(turn.tool)}${turn.refused === undefined ? '' : ` refused by ${plain(turn.refused)}`}`}
          at={turn.at}
        >
          <Output text={turn.text} limit={8000} />
        </Simple>
      );
    case 'User':
      return (
        <Simple kind={turn.origin === 'Person' ? 'person' : 'user'} who={origins[turn.origin]} at={turn.at}>
          <Output text={turn.text} limit={4000} />
        </Simple>
      );
    case 'Decision':
      return (
        <Simple
          kind={turn.decision === 'Rejected' || turn.decision === 'Unanswered' ? 'decision bad' : 'decision good'}
          who={`${turn.decision} by ${plain(turn.requester ?? 'nobody in time')}`}
          at={turn.at}
        >
          <p className="said">{plain(turn.summary)}</p>
          {(turn.answer ?? turn.why) !== undefined && <p className="said strong">{plain(turn.answer ?? turn.why ?? '')}</p>}
        </Simple>
      );
    case 'Rewound':
      return <Simple kind="mark" who={`Taken back to the tree after step ${turn.toStep}`} at={turn.at} />;
    case 'Snapshot':
      return <Simple kind="mark" who={`Snapshot ${plain(turn.id)} ${plain(turn.label)}`} at={turn.at} />;
    case 'Restored':
      return (
        <Simple kind="mark" who={`Restored ${plain(turn.id)}, ${turn.verified ? 'verified by its hash' : 'NOT verified'}`} at={turn.at} />
      );
    case 'Note':
    default: {
      const { title, text } = noteOf(turn);
      return (
        <Simple kind="note" who={plain(title)} at={turn.at}>
          {text !== '' && <p className="muted small">{plain(text)}</p>}
        </Simple>
      );
    }
  }
}

function Quiet({ heard, task }: { readonly heard: Heard; readonly task: AgentTask }): ReactNode {
  if (task.status?.assignment === undefined) return <Empty title="Nothing was said yet">No worker has the task.</Empty>;
  if (heard.error !== undefined) return <Trouble what="The conversation cannot be read now:" error={heard.error} />;
  if (heard.state === 'Waiting') return <Empty title="Listening …" />;
  return <Empty title="Nothing was said yet">The worker prepares its sandbox.</Empty>;
}

/** Only turns in sight are drawn; at the end of it, the page goes along. */
export function TalkTab({ heard, task }: { readonly heard: Heard; readonly task: AgentTask }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const [atEnd, setAtEnd] = useState(false);
  const count = heard.turns.length;
  useLayoutEffect(() => {
    const top = (box.current?.getBoundingClientRect().top ?? 0) + window.scrollY;
    if (Math.abs(top - margin) > 1) setMargin(top);
  });
  const virtual = useWindowVirtualizer({
    count,
    estimateSize: () => 90,
    overscan: 6,
    scrollMargin: margin,
    getItemKey: (at) => heard.turns[at]?.seq ?? at,
  });
  useEffect(() => {
    const look = (): void => setAtEnd(window.innerHeight + window.scrollY > document.documentElement.scrollHeight - 80);
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, []);
  useEffect(() => {
    if (atEnd && window.scrollY > 0 && count > 0) virtual.scrollToIndex(count - 1, { align: 'end' });
  }, [count]);
  if (count === 0) return <Quiet heard={heard} task={task} />;
  return (
    <>
      {heard.error !== undefined && <Trouble what="It cannot be followed now; it is tried again." error={heard.error} />}
      <div
        ref={box}
        className="talk"
        role="feed"
        aria-busy={heard.state === 'Live'}
        aria-label="Conversation"
        style={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            role="article"
            aria-posinset={index + 1}
            aria-setsize={count}
            tabIndex={-1}
            className="slot"
            style={{ transform: `translateY(${start - margin}px)` }}
          >
            <TurnView turn={heard.turns[index]!} />
          </div>
        ))}
      </div>
      {!atEnd && count > 8 && (
        <button type="button" className="to-end" onClick={() => virtual.scrollToIndex(count - 1, { align: 'end' })}>
          To the newest
        </button>
      )}
    </>
  );
}
