import type { Reason } from '@agentfleet/protocol/api';

interface Refused {
  readonly reason: Reason;
  readonly cure: string;
}

const refused = (cure: string): Refused => ({ reason: 'SandboxRefused', cure });

/** Words of the admission of the API server, which has no codes for them, and of `make`; the first that is found counts. */
const known: readonly (readonly [RegExp, Refused])[] = [
  [
    /exceeded quota/,
    {
      reason: 'ResourceQuotaExceeded',
      cure: 'raise that ResourceQuota, wait until other pods of the namespace have ended, or ask for less in spec.sandbox.resources of a new task',
    },
  ],
  [
    /failed quota: .*must specify/,
    refused('the ResourceQuota demands them: set spec.sandbox.resources in a new task, or in the template of the pool'),
  ],
  [
    /(?:minimum|maximum) \S+ usage per|max limit to request ratio per/,
    refused('a LimitRange of the namespace demands it: change spec.sandbox.resources in a new task, or that LimitRange'),
  ],
  [
    /violates PodSecurity/,
    refused(
      'set the label pod-security.kubernetes.io/enforce of the namespace to a level that lets it in, or take out of spec.sandbox of the pool what it names',
    ),
  ],
  [/no PriorityClass with name/, refused('create it, or name another one in spec.sandbox.template.priorityClassName of the pool')],
  [/RuntimeClass "?\S+ not found/, refused('create it, or name another one in spec.sandbox.runtimeClassName of a new task')],
  [/failed calling webhook/, refused('that webhook does not answer: mend or remove it, or let it leave out the namespace')],
  [
    /denied the request|denied request/,
    refused(
      'a policy of the cluster forbids it: change that policy, or let it leave out pods with the label agentfleet.dev/component: sandbox',
    ),
  ],
  // A StatefulSet of the task's name calls its pods as the sandboxes of the task are called, and makes one that is deleted again.
  [/ not (?:belong )?to this task/, { reason: 'NameTaken', cure: 'create the task again under another name, or delete or rename that' }],
  [/because it is being terminated/, refused('the namespace is being deleted, and the task with it')],
];

/** Returns the reason for which the API server does not take a sandbox pod, and the cure. Pure. */
export function refusedBecause(message: string): Refused {
  return known.find(([words]) => words.test(message))?.[1] ?? refused('correct what it names');
}
