import { timestamp } from '@agentfleet/kube';
import { maxWaitingMessages, type TaskMessage } from '@agentfleet/protocol/api';
import type { Transition } from './transition.ts';
import type { Facts } from './facts.ts';
import type { DesiredStatus } from './snapshot.ts';

/**
 * The messages that the model has not got yet, oldest first: what waits already, then orders as far as there is room. A
 * message leaves when the worker reports its id, under whichever epoch; a task that has ended has none. Pure.
 */
export function waitingMessages({ status, snapshot, now }: Facts, transition: Transition): Pick<DesiredStatus, 'messages'> {
  if (transition.kind === 'End' || transition.kind === 'Ended') return {};
  const taken = new Set(status.run?.messagesTaken);
  const waiting = (status.messages ?? []).filter(({ id }) => !taken.has(id));
  const known = new Set([...taken, ...waiting.map(({ id }) => id)]);
  const fresh = snapshot.messages.flatMap(({ metadata: { uid = '', name }, spec: { requester, message = '' } }): TaskMessage[] =>
    known.has(uid) ? [] : [{ id: uid, orderRef: { name }, requester, text: message, at: timestamp(now) }],
  );
  const messages = [...waiting, ...fresh].slice(0, maxWaitingMessages);
  return messages.length === 0 ? {} : { messages };
}
