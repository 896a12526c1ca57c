import { resources } from '@agentfleet/operator/resources';
import { podTemplate } from './peer.ts';
import type { Subject } from './subject.ts';
import { hasCondition } from '../../cluster/base/api.ts';

/** Returns bare pods as a subject: the pods of the sandboxes themselves, made by the client. No control plane takes less for them. */
export function bareSubject(): Subject {
  const subject: Subject = {
    name: 'no controller: bare pods',
    agent: 'nobody/',
    resource: resources.pods,
    manifest: (name, namespace) => {
      const { metadata, spec } = podTemplate();
      const { labels, annotations = {} } = metadata;
      return { metadata: { name, namespace, labels, annotations }, spec } as ReturnType<Subject['manifest']>;
    },
    isReady: (object) => hasCondition(object, 'Ready'),
    start: () => Promise.resolve({ processes: [], loopLagMs: () => Promise.resolve(undefined), stop: () => Promise.resolve() }),
    warm: () => subject,
  };
  return subject;
}
