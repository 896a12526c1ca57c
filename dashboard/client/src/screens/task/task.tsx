/** One task: what it is to do, what the agent does and why, what it changed, and what a person can do about it. */
import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import type { TaskDetail } from '../../../../src/base/wire.ts';
import { get, RequestError, taskPath } from '../../base/api.ts';
import { useConversation } from '../../base/conversation.ts';
import { useLoad, useNow, useParams } from '../../base/hooks.ts';
import { useFleet } from '../../base/store.ts';
import { candidatesOf } from '../../base/talk.ts';
import { ago } from '../../base/text.ts';
import { Empty, Tabs, Trouble } from '../../parts/bits.tsx';
import { Head } from './head.tsx';
import { Decide } from './decide.tsx';
import { JudgementTab } from './judgement.tsx';
import { ArtifactsTab, ChangeTab, ObjectTab } from './results.tsx';
import { Side } from './side.tsx';
import { TalkTab } from './talk.tsx';
import { TimelineTab } from './timeline.tsx';

const tabs = ['talk', 'change', 'judgement', 'timeline', 'artifacts', 'object'] as const;

function Missing({ error, name }: { readonly error: unknown; readonly name: string }): ReactNode {
  if (error instanceof RequestError && error.status === 404)
    return (
      <Empty title={`There is no task ${name}`}>
        It was deleted, or never was. <Link href="/">To the fleet</Link>
      </Empty>
    );
  return <Trouble what="The task cannot be shown:" error={error} />;
}

function Body({ detail, again }: { readonly detail: TaskDetail; readonly again: () => void }): ReactNode {
  const { namespace = '', name } = detail.task.metadata;
  const [params, change] = useParams();
  const heard = useConversation(namespace, name);
  const now = useNow();
  const tab = tabs.find((one) => one === params.get('tab')) ?? 'talk';
  const candidates = candidatesOf(heard.turns);
  const { run } = detail.task.status ?? {};
  const names = [
    { id: 'talk', name: 'Conversation', ...(heard.turns.length > 0 && { count: heard.turns.length }) },
    { id: 'change', name: 'Change' },
    { id: 'judgement', name: 'Checks', ...(candidates.length > 0 && { count: candidates.length }) },
    { id: 'timeline', name: 'Timeline' },
    { id: 'artifacts', name: 'Artifacts', ...(run?.artifacts !== undefined && { count: run.artifacts.length }) },
    { id: 'object', name: 'Object' },
  ] as const;
  return (
    <article className="task">
      <Head task={detail.task} now={now} onDone={again} />
      <Decide task={detail.task} now={now} onDone={again} />
      <div className="columns">
        <div className="content">
          <Tabs label="Parts of the task" tabs={names} active={tab} onChange={(id) => change({ tab: id === 'talk' ? '' : id })} />
          <div role="tabpanel" aria-labelledby={`tab-${tab}`} className="tab">
            {tab === 'talk' && <TalkTab heard={heard} task={detail.task} />}
            {tab === 'change' && <ChangeTab task={detail.task} />}
            {tab === 'judgement' && <JudgementTab task={detail.task} candidates={candidates} />}
            {tab === 'timeline' && <TimelineTab detail={detail} heard={heard} now={now} />}
            {tab === 'artifacts' && <ArtifactsTab task={detail.task} />}
            {tab === 'object' && <ObjectTab task={detail.task} notes={detail.notes} />}
          </div>
        </div>
        <Side task={detail.task} now={now} />
      </div>
    </article>
  );
}

export function TaskScreen({ namespace, name }: { readonly namespace: string; readonly name: string }): ReactNode {
  const { objects, link } = useFleet();
  const row = objects.AgentTask.get(`${namespace}/${name}`);
  // The live list shows when the object has changed; where it is not followed, it is asked for now and then.
  const now = useNow(5000);
  const pulse = Math.floor(now / 5000);
  const version = row?.version ?? `${link} ${pulse}`;
  const path = taskPath(namespace, name);
  const { value, at, error, again } = useLoad(`${namespace}/${name}`, (signal) => get<TaskDetail>(path, signal), version);
  useEffect(() => {
    if (error !== undefined && row !== undefined) again();
  }, [pulse]);
  return (
    <>
      <nav className="crumbs" aria-label="Where this is">
        <Link href="/">Fleet</Link> <span aria-hidden="true">/</span> <Link href={`/?ns=${namespace}`}>{namespace}</Link>{' '}
        <span aria-hidden="true">/</span> <span>{name}</span>
      </nav>
      {value === undefined ? (
        error === undefined ? (
          <Empty title="Loading the task …" />
        ) : (
          <Missing error={error} name={`${namespace}/${name}`} />
        )
      ) : (
        <>
          {error !== undefined && <Trouble what={`As of ${ago(at, now)} ago; the task cannot be read now:`} error={error} />}
          <Body detail={value} again={again} />
        </>
      )}
    </>
  );
}
